import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { buildTransformers, type BuildOptions } from './build.js';
import { loadEncryptionConfiguration } from './load.js';

const folder = mkdtempSync(join(tmpdir(), 'annex-encryption-'));
const path = join(folder, 'encryption.yaml');
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const secret = Buffer.alloc(32, 1).toString('base64');
const aes = { aescbc: { keys: [{ name: 'a', secret }] } };
const load = (content: object | string, reload = false): ReturnType<typeof loadEncryptionConfiguration> => {
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return loadEncryptionConfiguration(path, { reload });
};
const whole = (...resources: object[]): object => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources,
});
const entry = (resources: unknown, ...providers: object[]): object => ({ resources, providers });
const kms = (more: object): object => ({ kms: { apiVersion: 'v2', name: 'k', endpoint: 'unix:///k.sock', ...more } });
const keys = (...given: object[]): object => ({ aesgcm: { keys: given } });

const failures: [string, object | string, string][] = [
  ['no content', '', `error while loading file: encryption provider configuration file "${path}" is empty`],
  ['no kind', '{}', `error decoding encryption provider configuration file "${path}": Object 'Kind' is missing`],
  [
    'unknown field',
    { ...whole(entry(['secrets'], aes)), foo: 1 },
    `error decoding encryption provider configuration file "${path}": strict decoding error: unknown field "foo"`,
  ],
  ['no resources', whole(), 'resources: Required value: at least one resources is required'],
  [
    'nothing in an entry',
    whole({}),
    '[resources[0].resources: Required value: at least one resources[0].resources is required, resources[0].providers: Required value: at least one resources[0].providers is required]',
  ],
  [
    'no provider',
    whole(entry(['secrets'], {})),
    'resources[0].providers[0]: Invalid value: {"AESGCM":null,"AESCBC":null,"Secretbox":null,"Identity":null,"KMS":null}: provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity',
  ],
  [
    'two providers',
    whole(entry(['secrets'], { ...aes, identity: {} })),
    'resources[0].providers[0]: Invalid value: {"AESGCM":null,"AESCBC":{"Keys":[{"Name":"a","Secret":"REDACTED"}]},"Secretbox":null,"Identity":{},"KMS":null}: more than one provider specified in a single element, should split into different list elements',
  ],
  [
    'a short key',
    whole(entry(['secrets'], keys({ name: 'a', secret: 'c2hvcnQ=' }))),
    'resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 5, expected one of [16 24 32]',
  ],
  [
    'a key that is no base64',
    whole(entry(['secrets'], keys({ name: 'a', secret: 'plain!' }))),
    'resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded',
  ],
  [
    'no keys',
    whole(entry(['secrets'], keys())),
    'resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required',
  ],
  [
    'a key without anything',
    whole(entry(['secrets'], keys({}))),
    '[resources[0].providers[0].aesgcm.keys[0].name: Required value: name is a mandatory field for a key, resources[0].providers[0].aesgcm.keys[0].secret: Required value: secret is a mandatory field for a key]',
  ],
  [
    'overlap',
    whole(entry(['secrets', '*.'], aes)),
    `resources[0].resources: Invalid value: ["secrets","*."]: using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked`,
  ],
  [
    'twice',
    whole(entry(['secrets', 'secrets'], aes)),
    'resources[0].resources: Invalid value: ["secrets","secrets"]: the same resource cannot be specified multiple times',
  ],
  [
    'capitals',
    whole(entry(['Secrets'], aes)),
    'resources[0].resources[0]: Invalid value: "Secrets": resource name should not contain capital letters',
  ],
  [
    'star',
    whole(entry(['*'], aes)),
    `resources[0].resources[0]: Invalid value: "*": use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources`,
  ],
  [
    'across groups',
    whole(entry(['secrets.*'], aes)),
    'resources[0].resources[0]: Invalid value: "secrets.*": encrypting the same resource across groups is not supported',
  ],
  [
    'kms: name',
    whole(entry(['secrets'], kms({ name: 'a:b' }))),
    `resources[0].providers[0].kms.name: Invalid value: "a:b": invalid KMS provider name a:b, must not contain ':'`,
  ],
  [
    'kms: twice',
    whole(entry(['secrets'], kms({}), kms({}))),
    'resources[0].providers[1].kms.name: Invalid value: "k": duplicate KMS provider name k, names must be unique',
  ],
  [
    'kms: scheme',
    whole(entry(['secrets'], kms({ endpoint: 'tcp://a' }))),
    'resources[0].providers[0].kms.endpoint: Invalid value: "tcp://a": unsupported scheme "tcp" for KMS provider, only unix is supported',
  ],
  [
    'kms: timeout',
    whole(entry(['secrets'], kms({ timeout: '0s' }))),
    'resources[0].providers[0].kms.timeout: Invalid value: "0s": timeout should be a positive value',
  ],
  [
    'kms: cachesize',
    whole(entry(['secrets'], kms({ cachesize: 5 }))),
    'resources[0].providers[0].kms.cachesize: Invalid value: 5: cachesize is not supported in v2',
  ],
  [
    'kms: version',
    whole(entry(['secrets'], kms({ apiVersion: 'v3' }))),
    'resources[0].providers[0].kms.apiVersion: Invalid value: "v3": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported',
  ],
];

test.each(failures)('%s', (_, content, message) => {
  expect(() => load(content)).toThrow(new Error(`error while parsing file: ${message}`));
});

test('refuses a missing file', () => {
  expect(() => loadEncryptionConfiguration('/nowhere/at/all', { reload: false })).toThrow(
    'error while parsing file: error while loading file: error reading encryption provider configuration file "/nowhere/at/all": open /nowhere/at/all: no such file or directory',
  );
});

const nothing = (): void => undefined;
const options: BuildOptions = {
  clock: new FakeClock(),
  failed: nothing,
  observer: {
    transformed: nothing,
    called: nothing,
    keyUsed: nothing,
    keyStatus: nothing,
    invalidKeyId: nothing,
    cacheMissed: nothing,
    cacheSize: nothing,
    keyGenerated: nothing,
  },
};

test.each([
  ['secrets', 'core', 'k8s:enc:aesgcm:v1:core:'],
  ['configmaps', 'all-core', 'k8s:enc:aesgcm:v1:all-core:'],
  ['widgets.example.com', 'group', 'k8s:enc:aesgcm:v1:group:'],
  ['widgets.other.example.com', 'all', 'k8s:enc:aesgcm:v1:all:'],
  ['events', 'none', '{"a":1}'],
])('%s is encrypted by the rule for %s', async (resource, _, stored) => {
  const { configuration } = load(
    whole(
      entry(['events'], { identity: {} }),
      entry(['secrets'], keys({ name: 'core', secret })),
      entry(['*.'], keys({ name: 'all-core', secret })),
      entry(['*.example.com'], keys({ name: 'group', secret })),
      entry(['*.*'], keys({ name: 'all', secret })),
    ),
  );
  const transformer = buildTransformers(configuration, options).of(resource);
  const bytes = await transformer?.toStorage(Buffer.from('{"a":1}'), Buffer.from(resource));
  expect(
    Buffer.from(bytes ?? [])
      .toString('latin1')
      .startsWith(stored),
  ).toBe(true);
});

test('does not encrypt a type without a rule, and refuses a rule that an earlier one masks', () => {
  expect(
    buildTransformers(load(whole(entry(['secrets'], aes))).configuration, options).of('configmaps'),
  ).toBeUndefined();
  const masked = load(whole(entry(['*.*'], aes), entry(['secrets'], aes))).configuration;
  expect(() => buildTransformers(masked, options)).toThrow(
    'error while building transformers: resource "secrets" is masked by earlier rule "*.*"',
  );
});
