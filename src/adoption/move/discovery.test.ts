import { FakeClock } from '../../../test/fakes/util/clock.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { ClusterError } from '../../client/cluster-client.js';
import { Discovery } from './discovery.js';

const AUTOMANAGED = { 'kube-aggregator.kubernetes.io/automanaged': 'true' };
const crd: KubeObject = {
  metadata: { name: 'widgets.a.example.com' },
  spec: {
    group: 'a.example.com',
    names: { plural: 'widgets' },
    versions: ['v1', 'v1beta1', 'annexreturn1'].map((name) => ({ name, served: true })),
  },
};

/** A cluster in which kube-apiserver lists the types after some deletions of their APIServices. */
function setUp(deletions: number) {
  const service = (name: string, labels: Record<string, string>, spec: JsonObject = {}): KubeObject => ({
    metadata: { name, uid: `uid-${name}`, resourceVersion: '7', labels },
    spec,
  });
  const services = new Map([
    ['v1.a.example.com', service('v1.a.example.com', AUTOMANAGED)],
    ['v1beta1.a.example.com', service('v1beta1.a.example.com', {}, { service: { name: 'annex' } })],
  ]);
  const deleted: [string, JsonObject | undefined][] = [];
  const notes: string[] = [];
  const state = { conflict: false };
  const discovery = new Discovery({
    client: {
      call: () => Promise.reject(new Error('nobody is asked')),
      must: (method, path, body) => {
        const name = path.split('/').at(-1) ?? '';
        if (method === 'GET') return Promise.resolve(services.get(name));
        deleted.push([name, body]);
        return state.conflict ? Promise.reject(new ClusterError(409, 'changed')) : Promise.resolve(undefined);
      },
    },
    servers: {
      everywhere: async (_, holds) => {
        const nobody = (): Promise<never> => Promise.reject(new Error('nobody is asked'));
        await holds({ call: nobody, plain: nobody, discovery: nobody });
      },
    },
    clock: new FakeClock(),
    clusterDefinitions: {
      list: () => Promise.resolve([crd]),
      missingInDiscovery: () => Promise.resolve(deleted.length >= deletions ? '' : 'its discovery lacks widgets'),
    },
    journal: {
      note: ([found]) => {
        notes.push(`${found?.[0]} ${String(found?.[1])}: ${found?.[3]}`);
        return Promise.resolve();
      },
    },
  });
  return { discovery, deleted, notes, state };
}

const { signal } = new AbortController();

test('nothing is deleted where every kube-apiserver lists the types', async () => {
  const { discovery, deleted, notes } = setUp(0);
  await discovery.complete(signal);
  expect([deleted, notes]).toEqual([[], []]);
});

test("kube-apiserver's own APIServices are deleted, as they were read, until it lists the types", async () => {
  const { discovery, deleted, notes, state } = setUp(2);
  state.conflict = true;
  await discovery.complete(signal);
  const preconditions = { uid: 'uid-v1.a.example.com', resourceVersion: '7' };
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
  // Not that of another server, nor the back door.
  expect(deleted).toEqual([
    ['v1.a.example.com', options],
    ['v1.a.example.com', options],
  ]);
  expect(notes).toEqual(Array(2).fill('Discovered false: its discovery lacks widgets'));
});
