import { loadAdmissionConfig } from './admission-config.js';

const load = (files: Readonly<Record<string, string>>): ReturnType<typeof loadAdmissionConfig> =>
  loadAdmissionConfig('/etc/admission.yaml', (path) => {
    const text = files[path];
    return text === undefined ? Promise.reject(new Error(`open ${path}: no such file`)) : Promise.resolve(text);
  });

const HEAD = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n';
const WEBHOOK = '{apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: /k}';

test('no file configures nothing', async () => {
  expect(await loadAdmissionConfig('', () => Promise.reject(new Error()))).toEqual({ kubeconfigs: {}, unused: [] });
});

test('kubeconfigs stand in the file or in another one', async () => {
  const config = await load({
    '/etc/admission.yaml': `${HEAD}plugins:\n- {name: MutatingAdmissionWebhook, configuration: ${WEBHOOK}}\n- {name: ValidatingAdmissionWebhook, path: v.yaml}\n- {name: PodSecurity, configuration: {}}\n`,
    '/etc/v.yaml': 'apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: WebhookAdmission\nkubeConfigFile: /v\n',
  });
  expect(config).toEqual({
    kubeconfigs: { MutatingAdmissionWebhook: '/k', ValidatingAdmissionWebhook: '/v' },
    unused: ['PodSecurity'],
  });
});

test.each([
  [
    'a missing file',
    {},
    'unable to read admission control configuration from "/etc/admission.yaml" [open /etc/admission.yaml: no such file]',
  ],
  [
    'another kind',
    { '/etc/admission.yaml': 'apiVersion: v1\nkind: Pod\n' },
    'no kind "Pod" is registered for version "v1"',
  ],
  ['an unknown field', { '/etc/admission.yaml': `${HEAD}odd: 1\n` }, 'strict decoding error: unknown field "odd"'],
  [
    'a relative kubeconfig',
    {
      '/etc/admission.yaml': `${HEAD}plugins: [{name: MutatingAdmissionWebhook, configuration: ${WEBHOOK.replace('/k', 'k')}}]\n`,
    },
    'kubeConfigFile: Invalid value: "k": must be an absolute file path',
  ],
  [
    'a plugin without a configuration',
    { '/etc/admission.yaml': `${HEAD}plugins: [{name: NamespaceLifecycle, configuration: {}}]\n` },
    'the admission plugin NamespaceLifecycle takes no configuration',
  ],
])('%s ends the start', async (_, files, message) => {
  await expect(load(files)).rejects.toThrow(message);
});
