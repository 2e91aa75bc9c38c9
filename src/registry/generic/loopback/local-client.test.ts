import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { admissionChain } from '../../../admission/chain.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../../../admission/interfaces.js';
import type { KubeObject, OwnerReference } from '../../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import { StorageCacher } from '../../../storage/cacher/cacher.js';
import { EmbeddedBackend } from '../../../storage/embedded/backend.js';
import { StorageError } from '../../../storage/errors.js';
import { systemClock as clock } from '../../../util/clock.js';
import { featureGates } from '../../../util/feature-gates.js';
import { installBuiltins, loadMergeTypes } from '../../builtin/install.js';
import type { EscalationDependencies } from '../../builtin/rbac/escalation.js';
import { offloadableKinds } from '../../kinds.js';
import type { LoopbackClient } from '../../rest/loopback-client.js';
import { ApiRegistry } from '../store/api-registry.js';
import { LocalClients } from './local-client.js';

const directory = mkdtempSync(join(tmpdir(), 'annex-loopback-'));
const backend = new EmbeddedBackend({ directory: join(directory, 'store'), clock });
const cacher = new StorageCacher({ backend, clock });
const registry = new ApiRegistry();

beforeAll(async () => {
  await backend.open();
  await cacher.start();
  installBuiltins(offloadableKinds({} as EscalationDependencies), {
    registry,
    backend,
    cacher,
    clock,
    cbor: false,
    mergeTypes: loadMergeTypes(),
    emulation: 36,
    declarative: { gates: featureGates, report: () => undefined },
  });
});
afterEach(() => jest.restoreAllMocks());
afterAll(async () => {
  await cacher.stop();
  await backend.close();
  rmSync(directory, { recursive: true });
});

/** Returns a client whose writes pass a plugin. */
function clientOf(resource: string, plugin: Partial<AdmissionPlugin> = {}): LoopbackClient {
  const admission = admissionChain([{ name: 'test', handles: () => true, ...plugin }]);
  return new LocalClients({ registry, admission, clock, fieldManager: 'test' }).for({ group: '', resource });
}

const configMap = (name: string, more: object = {}, data = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'ns', ...more },
  data,
});

const OWNER: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'u' };
const TWICE = { ownerReferences: [OWNER, { ...OWNER }] };

describe('writes of controllers pass the same pipeline as requests', () => {
  test('duplicate owner references are dropped from what a controller creates', async () => {
    const { metadata } = await clientOf('configmaps').create(configMap('created', TWICE));
    expect(metadata.ownerReferences).toEqual([OWNER]);
  });

  test('duplicate owner references are dropped from what a controller updates', async () => {
    const client = clientOf('configmaps');
    await client.create(configMap('updated'));
    const { metadata } = await client.update(configMap('updated', TWICE));
    expect(metadata.ownerReferences).toEqual([OWNER]);
  });

  test('duplicate owner references are dropped from what admission made', async () => {
    const admit = ({ object }: AdmissionAttributes): void => void Object.assign(object?.metadata ?? {}, TWICE);
    const { metadata } = await clientOf('configmaps', { admit }).create(configMap('mutated'));
    expect(metadata.ownerReferences).toEqual([OWNER]);
  });

  test('managed fields that admission made invalid are those from before it', async () => {
    const invalid = [{ manager: 'webhook', operation: 'Nothing' }];
    const admit = ({ object }: AdmissionAttributes): void =>
      void Object.assign(object?.metadata ?? {}, { managedFields: invalid });
    const client = clientOf('configmaps', { admit });
    const created = await client.create(configMap('fields', {}, { a: '1' }));
    const updated = await client.update(configMap('fields', {}, { a: '1', b: '2' }));
    for (const { metadata } of [created, updated]) {
      expect(metadata.managedFields).toMatchObject([{ manager: 'test', operation: 'Update', fieldsType: 'FieldsV1' }]);
    }
  });

  test('an object that is too large is stored without its managed fields', async () => {
    const write = backend.write.bind(backend);
    jest
      .spyOn(backend, 'write')
      .mockImplementation((request) =>
        JSON.stringify(request.value?.object ?? {}).includes('managedFields')
          ? Promise.reject(new StorageError('object-too-large', 'too large'))
          : write(request),
      );
    const client = clientOf('configmaps');
    const created = await client.create(configMap('large', {}, { a: '1' }));
    const updated = await client.update(configMap('large', {}, { a: '2' }));
    expect([created, updated].map(({ metadata }) => metadata.managedFields)).toEqual([undefined, undefined]);
    expect((await client.get('ns', 'large'))?.['data']).toEqual({ a: '2' });
    await expect(client.apply(configMap('large', {}, { a: '3' }), 'applier')).rejects.toMatchObject({ code: 413 });
  });

  test('admission sees that a type is deleted in two phases by its UID', async () => {
    const seen: unknown[] = [];
    const validate = ({ operation, options }: AdmissionAttributes): void => {
      if (operation === 'DELETE') seen.push(options['preconditions']);
    };
    const namespaces = clientOf('namespaces', { validate });
    const { metadata } = await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'gone' } });
    await namespaces.delete('', 'gone');
    const maps = clientOf('configmaps', { validate });
    await maps.create(configMap('gone'));
    await maps.delete('ns', 'gone');
    expect(seen).toEqual([{ uid: metadata.uid }, undefined]);
  });

  test('an apply creates an object only for a user who may create it', async () => {
    const verbs: string[] = [];
    const authorizer: Authorizer = {
      authorize: ({ verb }) => {
        verbs.push(verb);
        return { decision: verb === 'create' ? 'deny' : 'allow', reason: '' };
      },
    };
    const user = { name: 'jane', uid: '', groups: [], extra: {} };
    const clients = new LocalClients({
      registry,
      admission: admissionChain([]),
      clock,
      fieldManager: 'f',
      user,
      authorizer,
    });
    const maps = clients.for({ group: '', resource: 'configmaps' });
    await expect(maps.apply(configMap('applied'), 'f')).rejects.toMatchObject({ code: 403 });
    expect(verbs).toEqual(['patch', 'create']);
    await clientOf('configmaps').create(configMap('applied'));
    await maps.apply(configMap('applied', {}, { a: '1' }), 'f');
    expect(verbs).toEqual(['patch', 'create', 'patch']);
  });

  test('admission sees the generated name of a new object', async () => {
    const seen: string[] = [];
    const validate = ({ name }: AdmissionAttributes): void => void seen.push(name);
    const { metadata } = await clientOf('configmaps', { validate }).create({
      ...configMap(''),
      metadata: { generateName: 'made-', namespace: 'ns' },
    });
    expect(seen).toEqual([metadata.name]);
  });
});
