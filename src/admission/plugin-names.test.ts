import {
  unimplementedPlugins,
  ADMISSION_PLUGINS,
  DEFAULT_PLUGINS,
  enabledPlugins,
  fromAdmissionControl,
  pluginFlagError,
} from './plugin-names.js';

const flags = (
  enable: string,
  disable: string,
): { enableAdmissionPlugins: string[]; disableAdmissionPlugins: string[] } => ({
  enableAdmissionPlugins: enable.split(',').filter((name) => name !== ''),
  disableAdmissionPlugins: disable.split(',').filter((name) => name !== ''),
});

test('without flags the default plugins run, in order', () => {
  const enabled = enabledPlugins(flags('', ''));
  expect(enabled).toEqual(DEFAULT_PLUGINS);
  expect(enabled[0]).toBe('NamespaceLifecycle');
  expect(enabled).not.toContain('AlwaysDeny');
});

test('enabled plugins keep their place in the order', () => {
  const enabled = enabledPlugins(flags('AlwaysDeny,NamespaceExists,NamespaceAutoProvision', 'NamespaceLifecycle'));
  expect(enabled.slice(0, 2)).toEqual(['NamespaceAutoProvision', 'NamespaceExists']);
  expect(enabled.at(-1)).toBe('AlwaysDeny');
});

test('names of plugins that only kube-apiserver implements are accepted', () => {
  const named = flags('AlwaysPullImages', 'LimitRanger,Priority');
  expect(pluginFlagError(named)).toBeUndefined();
  expect(unimplementedPlugins(named)).toEqual(['LimitRanger', 'AlwaysPullImages']);
  expect(enabledPlugins(named)).toEqual(DEFAULT_PLUGINS.filter((name) => name !== 'Priority'));
});

test.each([
  ['Nope', '', 'enable-admission-plugins plugin "Nope" is unknown'],
  ['', 'Nope', 'disable-admission-plugins plugin "Nope" is unknown'],
  [
    'Priority,NamespaceExists',
    'NamespaceExists,Priority',
    '[NamespaceExists Priority] in enable-admission-plugins and disable-admission-plugins overlapped',
  ],
  [
    'Nope',
    'Never',
    '[enable-admission-plugins plugin "Nope" is unknown, disable-admission-plugins plugin "Never" is unknown]',
  ],
])('refuses %s with %s', (enable, disable, message) => {
  expect(pluginFlagError(flags(enable, disable))).toBe(message);
});

test('kube-apiserver has 41 plugins', () => {
  expect(new Set(ADMISSION_PLUGINS.map(({ name }) => name)).size).toBe(41);
});

test('--admission-control names all enabled plugins', () => {
  const chosen = fromAdmissionControl(['Priority', 'NamespaceExists']);
  expect(enabledPlugins(chosen)).toEqual(['NamespaceExists', 'Priority']);
  expect(unimplementedPlugins(chosen)).toEqual([]);
  expect(enabledPlugins(fromAdmissionControl([]))).toEqual([]);
  const admissionControl = ['Priority', 'Nope'];
  expect(pluginFlagError({ ...flags('', ''), admissionControl })).toBe('admission-control plugin "Nope" is unknown');
  expect(pluginFlagError({ ...flags('Priority', ''), admissionControl: ['Priority'] })).toBe(
    'admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive',
  );
});
