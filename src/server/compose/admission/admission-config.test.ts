import { featureGates } from '../../../util/feature-gates.js';
import { loadAdmissionConfig } from './admission-config.js';

const load = (files: Readonly<Record<string, string>>): ReturnType<typeof loadAdmissionConfig> =>
  loadAdmissionConfig('/etc/admission.yaml', (path) => {
    const text = files[path];
    return text === undefined ? Promise.reject(new Error(`open ${path}: no such file`)) : Promise.resolve(text);
  });

const HEAD = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n';
const WEBHOOK_HEAD = 'apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\n';
const WEBHOOK = '{apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: /k}';

test('without a file nothing is configured', async () => {
  expect(await loadAdmissionConfig('', () => Promise.reject(new Error()))).toEqual({
    kubeconfigs: {},
    manifests: new Map(),
    unused: [],
  });
});

test('reads kubeconfigs from the file or from another one', async () => {
  const config = await load({
    '/etc/admission.yaml': `${HEAD}plugins:\n- {name: MutatingAdmissionWebhook, configuration: ${WEBHOOK}}\n- {name: ValidatingAdmissionWebhook, path: v.yaml}\n- {name: PodSecurity, configuration: {}}\n`,
    '/etc/v.yaml': `${WEBHOOK_HEAD}kubeConfigFile: /v\n`,
  });
  expect(config).toEqual({
    kubeconfigs: { MutatingAdmissionWebhook: '/k', ValidatingAdmissionWebhook: '/v' },
    manifests: new Map(),
    unused: ['PodSecurity'],
  });
});

test('uses the first entry of a plugin, and ignores configurations that no plugin reads', async () => {
  const entries = `plugins:\n- {name: ValidatingAdmissionWebhook}\n- {name: ValidatingAdmissionWebhook, configuration: ${WEBHOOK}}\n`;
  expect(
    await load({ '/etc/admission.yaml': `${HEAD}${entries}- {name: NamespaceLifecycle, configuration: {}}\n- null\n` }),
  ).toEqual({
    kubeconfigs: {},
    manifests: new Map(),
    unused: [''],
  });
});

test.each([
  'imagePolicy: {}\n',
  'podNodeSelectorPluginConfig: {}\n',
  'apiVersion: apiserver.k8s.io/v1alpha1\nkind: AdmissionConfiguration\nplugins: []\n',
])('accepts a file in an older format: %j', async (text) => {
  expect(await load({ '/etc/admission.yaml': text })).toEqual({ kubeconfigs: {}, manifests: new Map(), unused: [] });
});

test('a missing file fails the start', async () => {
  await expect(load({})).rejects.toThrow(
    /^failed to read plugin config: unable to read admission control configuration from "\/etc\/admission.yaml" \[open \/etc\/admission.yaml: no such file\]$/,
  );
});

const UNREGISTERED = 'in scheme "pkg/runtime/scheme.go:111"';
const NO_KIND = "couldn't get version/kind; json parse error: json: cannot unmarshal";
const META = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

/** The errors of kube-apiserver v1.36.3 for the same files. */
test.each([
  ['', "Object 'Kind' is missing in ''"],
  [
    'apiVersion: apiserver.config.k8s.io/v1\n',
    "Object 'Kind' is missing in 'apiVersion: apiserver.config.k8s.io/v1\n'",
  ],
  ['kind: AdmissionConfiguration\n', "Object 'apiVersion' is missing in 'kind: AdmissionConfiguration\n'"],
  ['apiVersion: v1\nkind: Pod\n', `no kind "Pod" is registered for version "v1" ${UNREGISTERED}`],
  [
    'apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AdmissionConfiguration\n',
    `no kind "AdmissionConfiguration" is registered for version "apiserver.config.k8s.io/v1beta1" ${UNREGISTERED}`,
  ],
  [
    'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n',
    'unexpected type: *apiserver.EncryptionConfiguration',
  ],
  ['[]\n', `${NO_KIND} array into Go value of type ${META}`],
  ['hello\n', `${NO_KIND} string into Go value of type ${META}`],
  ['apiVersion: apiserver.config.k8s.io/v1\nkind: 5\n', `${NO_KIND} number into Go struct field .kind of type string`],
  [
    `${HEAD}plugins: []\nplugins: []\n`,
    'strict decoding error: yaml: unmarshal errors:\n  line 4: key "plugins" already set in map',
  ],
  [
    `${HEAD}extra: 1\nplugins:\n- {name: x, foo: 1, bar: 2}\n`,
    'strict decoding error: unknown field "extra", unknown field "plugins[0].bar", unknown field "plugins[0].foo"',
  ],
  [`${HEAD}Plugins: []\n`, 'strict decoding error: unknown field "Plugins"'],
  [
    `${HEAD}plugins: text\n`,
    'json: cannot unmarshal string into Go struct field AdmissionConfiguration.plugins of type []v1.AdmissionPluginConfiguration',
  ],
  [
    `${HEAD}plugins: [text]\n`,
    'json: cannot unmarshal string into Go struct field AdmissionConfiguration.plugins of type v1.AdmissionPluginConfiguration',
  ],
  [
    `${HEAD}plugins: [{name: 5}]\n`,
    'json: cannot unmarshal number into Go struct field AdmissionPluginConfiguration.plugins.name of type string',
  ],
  [
    `${HEAD}plugins: [{name: a, path: true}]\n`,
    'json: cannot unmarshal bool into Go struct field AdmissionPluginConfiguration.plugins.path of type string',
  ],
])('refuses the file %j like kube-apiserver', async (text, message) => {
  await expect(load({ '/etc/admission.yaml': text })).rejects.toThrow(
    new Error(`failed to read plugin config: ${message}`),
  );
});

test.each([
  ['ValidatingAdmissionWebhook', '{}', "Object 'Kind' is missing in '{}'"],
  ['ValidatingAdmissionWebhook', 'text', `${NO_KIND} string into Go value of type ${META}`],
  [
    'ValidatingAdmissionWebhook',
    '{kubeConfigFile: /x, apiVersion: apiserver.config.k8s.io/v1}',
    `Object 'Kind' is missing in '{"apiVersion":"apiserver.config.k8s.io/v1","kubeConfigFile":"/x"}'`,
  ],
  [
    'MutatingAdmissionWebhook',
    '{apiVersion: apiserver.config.k8s.io/v1alpha1, kind: WebhookAdmission}',
    `no kind "WebhookAdmission" is registered for version "apiserver.config.k8s.io/v1alpha1" ${UNREGISTERED}`,
  ],
  [
    'MutatingAdmissionWebhook',
    WEBHOOK.replace('/k', '5'),
    'json: cannot unmarshal number into Go struct field WebhookAdmission.kubeConfigFile of type string',
  ],
  [
    'MutatingAdmissionWebhook',
    WEBHOOK.replace('/k', 'k'),
    'kubeConfigFile: Invalid value: "k": must be an absolute file path',
  ],
  [
    'MutatingAdmissionWebhook',
    WEBHOOK.replace('kubeConfigFile', 'kubeconfig'),
    'strict decoding error: unknown field "kubeconfig"',
  ],
  ['ValidatingAdmissionPolicy', '{}', "Object 'Kind' is missing in '{}'"],
  ['ResourceQuota', '{}', 'limited resources are not supported'],
])('a configuration of %s fails the start: %s', async (name, configuration, message) => {
  await expect(
    load({ '/etc/admission.yaml': `${HEAD}plugins: [{name: ${name}, configuration: ${configuration}}]\n` }),
  ).rejects.toThrow(new Error(`couldn't init admission plugin "${name}": ${message}`));
});

describe('without the feature gate', () => {
  beforeEach(() => featureGates.set('ManifestBasedAdmissionControlConfig=false'));
  afterEach(() => featureGates.reset());

  test.each([
    ['MutatingAdmissionWebhook', 'WebhookAdmissionConfiguration'],
    ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyConfiguration'],
  ])('a folder for %s fails the start', async (name, kind) => {
    const configuration = `{apiVersion: apiserver.config.k8s.io/v1, kind: ${kind}, staticManifestsDir: /m}`;
    await expect(
      load({ '/etc/admission.yaml': `${HEAD}plugins: [{name: ${name}, configuration: ${configuration}}]\n` }),
    ).rejects.toThrow(
      new Error(
        `couldn't init admission plugin "${name}": staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled`,
      ),
    );
  });
});
