import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { systemClock } from '../../../util/clock.js';
import { fakeAttributes } from '../../../../test/fakes/admission/attributes.js';
import { fakeReader } from '../../../../test/fakes/admission/object-reader.js';
import { serviceAccountAdmission } from './service-account.js';

const account = (name: string, more: Partial<KubeObject> = {}): KubeObject => ({
  ...more,
  metadata: { namespace: 'ns', name, ...more.metadata },
});

const accounts = fakeReader(
  account('default', { imagePullSecrets: [{ name: 'pull' }] }),
  account('quiet', { automountServiceAccountToken: false }),
  account('strict', {
    metadata: { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } },
    secrets: [{ name: 'ok' }],
    imagePullSecrets: [{ name: 'pull' }],
  }),
);
const plugin = serviceAccountAdmission({ accounts, clock: systemClock, generateName: (prefix) => `${prefix}abcde` });

async function admit(spec: JsonObject, annotations = {}): Promise<JsonObject | string> {
  const object: KubeObject = { metadata: { name: 'p', annotations }, spec };
  try {
    await plugin.admit?.(fakeAttributes({ plural: 'pods', object }));
    await plugin.validate?.(fakeAttributes({ plural: 'pods', object }));
    return object['spec'] as JsonObject;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const PLACE = '/var/run/secrets/kubernetes.io/serviceaccount';
const MOUNT = { name: 'kube-api-access-abcde', readOnly: true, mountPath: PLACE };

test('a pod gets the default account, its token and its imagePullSecrets', async () => {
  expect(await admit({ containers: [{ name: 'a' }], initContainers: [{ name: 'b', volumeMounts: [] }] })).toEqual({
    serviceAccountName: 'default',
    serviceAccount: 'default',
    imagePullSecrets: [{ name: 'pull' }],
    containers: [{ name: 'a', volumeMounts: [MOUNT] }],
    initContainers: [{ name: 'b', volumeMounts: [MOUNT] }],
    volumes: [
      {
        name: 'kube-api-access-abcde',
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            {
              downwardAPI: {
                items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
              },
            },
          ],
        },
      },
    ],
  });
});

test('existing mounts at the token path stay, and so do existing imagePullSecrets', async () => {
  const containers = [{ name: 'a', volumeMounts: [{ name: 'v', mountPath: PLACE }] }];
  const spec = await admit({ containers, imagePullSecrets: [{ name: 'own' }] });
  expect(spec).toMatchObject({ containers, imagePullSecrets: [{ name: 'own' }] });
  expect(spec).not.toHaveProperty('volumes');
});

test('an existing volume with the name prefix is used', async () => {
  const volumes = [{ name: 'kube-api-access-x', emptyDir: {} }];
  expect(await admit({ containers: [{ name: 'a' }], volumes })).toMatchObject({
    volumes,
    containers: [{ volumeMounts: [{ name: 'kube-api-access-x' }] }],
  });
});

test.each([
  ['the pod wants none', { automountServiceAccountToken: false }, false],
  ['the account wants none', { serviceAccountName: 'quiet' }, false],
  ['the pod decides', { serviceAccountName: 'quiet', automountServiceAccountToken: true }, true],
])('token: %s', async (_, spec, mounted) => {
  const made = (await admit({ ...spec, containers: [{ name: 'a' }] })) as JsonObject;
  expect(made['volumes'] !== undefined).toBe(mounted);
});

test('refuses an account that does not exist', async () => {
  expect(await admit({ serviceAccountName: 'none' })).toBe(
    'pods "p" is forbidden: error looking up service account ns/none: serviceaccount "none" not found',
  );
});

describe('a missing default account is looked up again', () => {
  const clock = {
    ...systemClock,
    setTimer: (_: number, callback: () => void) => {
      setImmediate(callback);
      return { cancel: () => undefined };
    },
  };
  const waiting = (from: number, counted: { reads: number }) =>
    serviceAccountAdmission({
      accounts: {
        cached: () => undefined,
        live: () => Promise.resolve(++counted.reads >= from ? account('default') : undefined),
      },
      clock,
      generateName: (prefix) => prefix,
    });
  const pod = () => fakeAttributes({ plural: 'pods', object: { metadata: { name: 'p' }, spec: {} } });

  test('until it exists', async () => {
    const counted = { reads: 0 };
    await waiting(4, counted).admit?.(pod());
    expect(counted.reads).toBe(4);
  });

  test('ten times at most', async () => {
    const counted = { reads: 0 };
    await expect(waiting(Infinity, counted).admit?.(pod())).rejects.toThrow('serviceaccount "default" not found');
    expect(counted.reads).toBe(10);
  });
});

describe('mirror pods', () => {
  const mirror = { 'kubernetes.io/config.mirror': 'x' };
  test.each<[string, JsonObject, string]>([
    ['an account', { serviceAccountName: 'default' }, 'a mirror pod may not reference service accounts'],
    ['a secret', { imagePullSecrets: [{ name: 'a' }] }, 'a mirror pod may not reference secrets'],
    [
      'a token',
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'a' } }] } }] },
      'a mirror pod may not use ServiceAccountToken volume projections',
    ],
  ])('with %s', async (_, spec, message) => {
    expect(await admit(spec, mirror)).toBe(`pods "p" is forbidden: ${message}`);
  });
  test('are unchanged', async () => {
    expect(await admit({ containers: [{ name: 'a' }] }, mirror)).toEqual({ containers: [{ name: 'a' }] });
  });
});

describe('an account that enforces mountable secrets', () => {
  const strict = (spec: JsonObject): Promise<JsonObject | string> =>
    admit({ serviceAccountName: 'strict', automountServiceAccountToken: false, ...spec });
  const ref = (name: string): JsonObject => ({ name: 'V', valueFrom: { secretKeyRef: { name, key: 'k' } } });
  const end = 'is not allowed because service account strict does not reference that';
  test.each<[JsonObject, string]>([
    [{ volumes: [{ name: 'v', secret: { secretName: 's' } }] }, `volume with secret.secretName="s" ${end} secret`],
    [
      { initContainers: [{ name: 'i', env: [ref('s')] }] },
      `init container i with envVar V referencing secret.secretName="s" ${end} secret`,
    ],
    [
      { containers: [{ name: 'c', env: [ref('ok')], envFrom: [{ secretRef: { name: 's' } }] }] },
      `container c with envFrom referencing secret.secretName="s" ${end} secret`,
    ],
    [{ imagePullSecrets: [{ name: 'pull' }, { name: 's' }] }, `imagePullSecrets[1].name="s" ${end} imagePullSecret`],
  ])('%j', async (spec, message) => {
    expect(await strict(spec)).toBe(`pods "p" is forbidden: ${message}`);
  });
  test('allows the secrets that the account references', async () => {
    expect(await strict({ containers: [{ name: 'c', env: [ref('ok')] }] })).toMatchObject({
      imagePullSecrets: [{ name: 'pull' }],
    });
  });
});
