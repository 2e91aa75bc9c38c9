import { admissionChain } from '../../../admission/chain.js';
import { labelSelectorFromObject } from '../../../apimachinery/selectors/label-selector-object.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { EscalationDependencies } from '../../../registry/builtin/rbac/escalation.js';
import { LocalClients } from '../../../registry/generic/loopback/local-client.js';
import { ApiRegistry } from '../../../registry/generic/store/api-registry.js';
import { offloadableKinds } from '../../../registry/kinds.js';
import { LocalParams } from '../../../registry/sources/local-params.js';
import { StorageCacher } from '../../../storage/cacher/cacher.js';
import { systemClock as clock } from '../../../util/clock.js';
import { featureGates } from '../../../util/feature-gates.js';
import { installBuiltins, loadMergeTypes } from '../../../registry/builtin/install.js';
import { conversions, resolveByDns } from '../access/conversion-webhooks.js';
import { localConfigurations, localNamespaces } from './local-sources.js';
import { MemoryBackend } from '../../../../test/fakes/storage/memory-backend.js';
import { startDefinitions } from '../startup/start-definitions.js';

const CONFIGMAPS = { group: '', version: 'v1', resource: 'configmaps' };
const DEFINITIONS = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };
const CONFIGMAP = { group: '', version: 'v1', kind: 'ConfigMap' };
const SIZE = { group: 'example.com', version: 'v1', kind: 'Size' };

let backend: MemoryBackend;
let cacher: StorageCacher;
let registry: ApiRegistry;
let clients: LocalClients;
let stop: AbortController;

beforeEach(async () => {
  backend = new MemoryBackend({ clock });
  await backend.open();
  cacher = new StorageCacher({ backend, clock });
  await cacher.start();
  registry = new ApiRegistry();
  stop = new AbortController();
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
  clients = new LocalClients({ registry, admission: admissionChain([]), clock, fieldManager: 'test' });
});
afterEach(async () => {
  stop.abort();
  await cacher.stop();
  await backend.close();
});

const configMap = (name: string, labels: Record<string, string> = {}, namespace = 'ns'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels },
  data: { name },
});

const namesOf = (objects: readonly KubeObject[]): (string | undefined)[] =>
  objects.map(({ metadata }) => metadata.name);

/** Waits one turn of the event loop, as between the response to a request and the next request. */
const nextRequest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!holds() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(holds()).toBe(true);
}

describe('configurations', () => {
  test('are visible to the next request, sorted by name', async () => {
    const source = localConfigurations(registry, CONFIGMAPS);
    await source.whenSynced();
    const maps = clients.for(CONFIGMAPS);
    const names: string[] = [];
    for (let i = 0; i < 20; i++) {
      const name = `c${19 - i}`;
      names.push(name);
      await maps.create(configMap(name));
      await nextRequest();
      expect(namesOf(source.objects())).toEqual([...names].sort());
    }
    await maps.delete('ns', 'c7');
    await nextRequest();
    expect(namesOf(source.objects())).not.toContain('c7');
  });

  test('keep the same objects and list until they change, and notify listeners of changes', async () => {
    const source = localConfigurations(registry, CONFIGMAPS);
    const maps = clients.for(CONFIGMAPS);
    await maps.create(configMap('a'));
    await maps.create(configMap('b'));
    await source.whenSynced();
    await nextRequest();
    const [a, b] = source.objects();
    expect(source.objects()).toBe(source.objects());
    const { generation } = source;
    let reported = 0;
    const end = source.subscribe(() => reported++);
    await clients.for({ group: '', resource: 'secrets' }).create({ ...configMap('s'), kind: 'Secret', data: {} });
    await nextRequest();
    expect([source.generation, reported]).toEqual([generation, 0]);
    await maps.update({ ...(b as KubeObject), data: { name: 'other' } });
    await nextRequest();
    expect(source.generation).toBeGreaterThan(generation);
    expect(reported).toBe(1);
    expect(source.objects()[0]).toBe(a);
    expect(source.objects()[1]).toMatchObject({ metadata: { name: 'b' }, data: { name: 'other' } });
    end();
    await maps.delete('ns', 'a');
    await nextRequest();
    expect([reported, namesOf(source.objects())]).toEqual([1, ['b']]);
  });

  test('stored before a restart are available once the source is synced', async () => {
    await clients.for(CONFIGMAPS).create(configMap('old'));
    const again = new StorageCacher({ backend, clock });
    await again.start();
    const restarted = new ApiRegistry();
    const mergeTypes = loadMergeTypes();
    installBuiltins(offloadableKinds({} as EscalationDependencies), {
      registry: restarted,
      backend,
      cacher: again,
      clock,
      cbor: false,
      mergeTypes,
      emulation: 36,
      declarative: { gates: featureGates, report: () => undefined },
    });
    const source = localConfigurations(restarted, CONFIGMAPS);
    expect([source.synced(), source.objects()]).toEqual([false, []]);
    await source.whenSynced();
    expect([source.synced(), namesOf(source.objects())]).toEqual([true, ['old']]);
    await again.stop();
  });

  test('of a type that is not installed fail the start', () => {
    expect(() => localConfigurations(registry, { ...CONFIGMAPS, version: 'v2' })).toThrow(
      'configmaps is not installed in v2',
    );
  });
});

describe('params', () => {
  test('of built-in kinds are read by name, and by selector in one namespace', async () => {
    const maps = clients.for(CONFIGMAPS);
    await maps.create(configMap('b', { size: 'large' }));
    await maps.create(configMap('a', { size: 'large' }));
    await maps.create(configMap('c', { size: 'small' }));
    await maps.create(configMap('d', { size: 'large' }, 'elsewhere'));
    await nextRequest();
    const store = new LocalParams(registry).open(CONFIGMAP);
    expect(store?.namespaced).toBe(true);
    expect(await store?.synced()).toBe(true);
    expect(await store?.get('ns', 'a')).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { name: 'a' } });
    expect(await store?.get('ns', 'd')).toBeUndefined();
    const large = labelSelectorFromObject({ matchLabels: { size: 'large' } });
    expect(namesOf((await store?.list('ns', large)) ?? [])).toEqual(['a', 'b']);
    expect(namesOf((await store?.list('ns', labelSelectorFromObject({}))) ?? [])).toEqual(['a', 'b', 'c']);
    await maps.update({ ...configMap('a'), data: { name: 'changed' } });
    await nextRequest();
    expect(await store?.get('ns', 'a')).toMatchObject({ data: { name: 'changed' } });
  });

  test('of custom kinds are available while the kind is served', async () => {
    const params = new LocalParams(registry);
    expect(params.open(SIZE)).toBeUndefined();
    const { signal } = stop;
    const failures: unknown[] = [];
    await startDefinitions({
      registry,
      backend,
      cacher,
      clock,
      cbor: false,
      offloadConversion: () => undefined,
      type: DEFINITIONS,
      clients,
      conversionOf: conversions(resolveByDns),
      recordEvent: () => Promise.reject(new Error('nothing is bad')),
      onError: (_name, error) => failures.push(error),
      signal,
    });
    const schema = { openAPIV3Schema: { type: 'object', properties: { most: { type: 'integer', default: 3 } } } };
    await clients.for(DEFINITIONS).create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'sizes.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Cluster',
        names: { plural: 'sizes', kind: 'Size' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    await until(() => params.open(SIZE) !== undefined);
    expect(failures).toEqual([]);
    await clients.for({ group: 'example.com', resource: 'sizes' }).create({
      apiVersion: 'example.com/v1',
      kind: 'Size',
      metadata: { name: 'mine' },
    });
    await nextRequest();
    const store = params.open(SIZE);
    expect(store?.namespaced).toBe(false);
    expect(await store?.get('', 'mine')).toMatchObject({ kind: 'Size', most: 3 });
    expect(namesOf((await store?.list('', labelSelectorFromObject({}))) ?? [])).toEqual(['mine']);
    await clients.for(DEFINITIONS).delete('', 'sizes.example.com');
    await until(() => params.open(SIZE) === undefined);
  });
});

test('namespaces are read from the cache, and freshly if they are not cached', async () => {
  const source = localNamespaces(registry);
  expect(await source.get('one')).toBeUndefined();
  const pending = clients.for({ group: '', resource: 'namespaces' }).create({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'one', labels: { team: 'a' } },
  });
  await pending;
  const first = await source.get('one');
  expect(first).toMatchObject({ metadata: { name: 'one', labels: { team: 'a' } } });
  await nextRequest();
  expect(await source.get('one')).toBe(await source.get('one'));
});
