import { deepCopy, type JsonObject, objectAt, objectsOf, textOf } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { backDoor, ClusterDefinitions } from './cluster-definitions.js';

const text = { type: 'string' };
const schema = (field: string): JsonObject => ({
  openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { [field]: text } } } },
});
const WEBHOOK = { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'] } };
const NONE = { strategy: 'None' };
const versions = (served: boolean): JsonObject[] => [
  { name: 'v1', served, storage: false, schema: schema('size'), subresources: { status: {} } },
  { name: 'v2', served, storage: true, schema: schema('width'), subresources: { status: {} } },
];
const definition = (conversion: JsonObject, served: boolean): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Definition',
  metadata: { name: 'things.odd.example.com', generation: 1 },
  spec: {
    group: 'odd.example.com',
    names: { plural: 'things', kind: 'Thing' },
    versions: versions(served),
    conversion,
  },
});

/** A cluster with one definition, and the served definition in Annex. */
function clusterWith(conversion: JsonObject) {
  let crd = definition(conversion, true);
  const must = (method: string, _: string, body?: JsonObject): Promise<KubeObject> => {
    if (method === 'PUT') crd = deepCopy(body) as KubeObject;
    return Promise.resolve({ metadata: {}, items: [crd] });
  };
  const call = (): never => {
    throw new Error('nobody is asked');
  };
  return {
    definitions: new ClusterDefinitions({ must, call }, 'odd.example.com'),
    ofAnnex: [definition(conversion, true)],
    crds: (): KubeObject[] => [crd],
    spec: (): JsonObject => objectAt(crd, 'spec') ?? {},
    schemas: (): unknown[] => objectsOf(objectAt(crd, 'spec')?.['versions']).map((version) => version['schema']),
  };
}

const anything = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };

describe('the back door', () => {
  test('with a conversion webhook, versions other than the stored one accept anything until served again', async () => {
    const { definitions, ofAnnex, spec, schemas } = clusterWith(WEBHOOK);
    await definitions.stopServing();
    await definitions.openBackDoor(backDoor(1), ofAnnex);
    expect(spec()['conversion']).toEqual(NONE);
    expect(schemas()).toEqual([anything, schema('width'), anything]);
    // The next leader opens another back door.
    await definitions.openBackDoor(backDoor(2), ofAnnex);
    expect(schemas()).toEqual([anything, schema('width'), anything]);
    await definitions.restore(ofAnnex);
    await definitions.closeBackDoor();
    expect(spec()).toEqual(definition(WEBHOOK, true)['spec']);
  });

  test('giving up restores the definitions, without serving them', async () => {
    const { definitions, ofAnnex, spec } = clusterWith(WEBHOOK);
    await definitions.stopServing();
    await definitions.openBackDoor(backDoor(1), ofAnnex);
    await definitions.closeBackDoor(ofAnnex);
    expect(spec()).toEqual(definition(WEBHOOK, false)['spec']);
  });

  test('a definition that was changed in Annex is changed in the cluster', async () => {
    const { definitions, ofAnnex, spec, schemas } = clusterWith(WEBHOOK);
    await definitions.stopServing();
    const [first] = ofAnnex;
    const changed = { ...first, metadata: { ...first?.metadata, generation: 2 }, spec: { ...objectAt(first, 'spec') } };
    changed.spec['versions'] = versions(true).map((version) => ({ ...version, schema: schema('changed') }));
    await definitions.openBackDoor(backDoor(1), [changed]);
    expect(schemas()).toEqual([anything, schema('changed'), anything]);
    await definitions.restore([changed]);
    await definitions.closeBackDoor();
    expect(spec()).toEqual(changed.spec);
  });

  test('without a conversion webhook, schemas stay', async () => {
    const { definitions, ofAnnex, spec, schemas } = clusterWith(NONE);
    await definitions.stopServing();
    await definitions.openBackDoor(backDoor(1), ofAnnex);
    expect(schemas()).toEqual([schema('size'), schema('width'), anything]);
    await definitions.restore(ofAnnex);
    await definitions.closeBackDoor();
    expect(spec()).toEqual(definition(NONE, true)['spec']);
  });
});

describe('restarting watch caches', () => {
  test.each([[undefined], [['all']]])('a category is added to %j, and removed again', async (categories) => {
    const { definitions, spec } = clusterWith(NONE);
    if (categories !== undefined) objectAt(spec(), 'names')!['categories'] = categories;
    const before = deepCopy(spec());
    await definitions.restartCaches();
    await definitions.restartCaches();
    expect(objectAt(spec(), 'names')?.['categories']).toEqual([...(categories ?? []), 'annex-given-back']);
    await definitions.unmark();
    expect(spec()).toEqual(before);
  });
});

describe('serving the versions while Annex takes writes', () => {
  const names = (spec: JsonObject): unknown[] =>
    objectsOf(spec['versions']).map(({ name, served }) => `${textOf(name)} ${JSON.stringify(served)}`);
  const signals = (spec: JsonObject): unknown[] =>
    objectsOf(spec['versions']).flatMap(({ selectableFields }) =>
      objectsOf(selectableFields).map((one) => one['jsonPath']),
    );

  test('the back door stays open and signals it; restoring changes nothing more', async () => {
    const { definitions, ofAnnex, spec } = clusterWith(NONE);
    await definitions.stopServing();
    await definitions.openBackDoor(backDoor(1), ofAnnex);
    await definitions.restoreEarly(ofAnnex);
    expect(names(spec())).toEqual(['v1 true', 'v2 true', 'annexreturn1 true']);
    expect(signals(spec())).toEqual(['.annexServedEarly']);
    const early = deepCopy(spec());
    await definitions.restore(ofAnnex);
    expect(spec()).toEqual(early);
    await definitions.closeBackDoor();
    expect(spec()).toEqual(definition(NONE, true)['spec']);
  });

  test('loading again changes the signal, once', async () => {
    const { definitions, ofAnnex, spec } = clusterWith(NONE);
    await definitions.openBackDoor(backDoor(1), ofAnnex);
    await definitions.stopServing();
    await definitions.restoreEarly(ofAnnex);
    await definitions.reload();
    expect(signals(spec())).toEqual(['.annexServedAgain']);
    const again = deepCopy(spec());
    await definitions.reload();
    expect(spec()).toEqual(again);
  });

  test('an attempt that begins anew stops serving them, and closes the signal', async () => {
    const { definitions, ofAnnex, spec } = clusterWith(NONE);
    await definitions.stopServing();
    await definitions.openBackDoor(backDoor(1), ofAnnex);
    await definitions.restoreEarly(ofAnnex);
    await definitions.stopServing();
    await definitions.openBackDoor(backDoor(2), ofAnnex);
    expect(names(spec())).toEqual(['v1 false', 'v2 false', 'annexreturn2 true']);
    expect(signals(spec())).toEqual([]);
  });

  test('types that a webhook converts are left out', async () => {
    const { definitions, ofAnnex, spec } = clusterWith(WEBHOOK);
    await definitions.stopServing();
    await definitions.openBackDoor(backDoor(1), ofAnnex);
    const before = deepCopy(spec());
    await definitions.restoreEarly(ofAnnex);
    await definitions.reload();
    expect(spec()).toEqual(before);
  });

  test('a server has loaded a type when it selects by the signal of its back door', async () => {
    const { definitions, ofAnnex, crds } = clusterWith(NONE);
    await definitions.stopServing();
    await definitions.openBackDoor(backDoor(1), ofAnnex);
    await definitions.restoreEarly(ofAnnex);
    const asked: string[] = [];
    const answering = (status: number) => ({
      call: (_: string, path: string) => {
        asked.push(path);
        return Promise.resolve({ status, body: {} });
      },
      plain: () => Promise.reject(new Error('nobody is asked')),
      discovery: () => Promise.reject(new Error('nobody is asked')),
    });
    expect(await definitions.isRestored(answering(200), crds())).toBe(true);
    expect(await definitions.isRestored(answering(429), crds())).toBe(false);
    const path = '/apis/odd.example.com/annexreturn1/things?limit=1&fieldSelector=annexServedEarly%3Dyes';
    expect(asked).toEqual([path, path]);
  });

  test("a server lists the cluster's own types when their category is there, which those of Annex lack", async () => {
    const { definitions, ofAnnex, crds } = clusterWith(NONE);
    await definitions.stopServing();
    await definitions.openBackDoor(backDoor(1), ofAnnex);
    await definitions.restore(ofAnnex);
    const listing = (categories: string[]) => {
      const nobody = (): Promise<never> => Promise.reject(new Error('nobody is asked'));
      const resources = [{ resource: 'things', categories }];
      const versions = ['v1', 'v2'].map((version) => ({ version, resources }));
      const groups = [{ metadata: { name: 'odd.example.com' }, versions }];
      return { call: nobody, plain: nobody, discovery: () => Promise.resolve(groups) };
    };
    expect(await definitions.missingInDiscovery(listing([]), crds())).toMatch(/^its discovery lacks things of odd/);
    expect(await definitions.missingInDiscovery(listing(['annex-given-back']), crds())).toBe('');
    await definitions.closeBackDoor(ofAnnex);
    expect(await definitions.missingInDiscovery(listing([]), crds())).toBe('');
  });
});
