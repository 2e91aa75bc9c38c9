import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { ClusterListener } from '../client/cluster-client.js';
import { ClusterNamespaces } from './cluster-namespaces.js';

const namespace = (name: string, phase = 'Active'): KubeObject => ({ metadata: { name }, status: { phase } });

function setUp() {
  let listener: ClusterListener | undefined;
  const asked: string[] = [];
  const namespaces = new ClusterNamespaces({
    follow: (path, given) => {
      asked.push(`follow ${path}`);
      listener = given;
      return Promise.resolve();
    },
    must: (method, path) => {
      asked.push(`${method} ${path}`);
      return Promise.resolve(undefined);
    },
  });
  const reported = { broken: () => undefined, restored: () => undefined };
  void namespaces.follow(new AbortController().signal, reported);
  if (listener === undefined) throw new Error('nothing is followed');
  return { namespaces, asked, listener };
}

describe('ClusterNamespaces', () => {
  test('serves namespaces from the watch', async () => {
    const { namespaces, listener } = setUp();
    listener.replaced([namespace('a'), namespace('b')]);
    listener.upsert(namespace('b', 'Terminating'));
    listener.upsert(namespace('c'));
    listener.delete(namespace('a'));
    expect(await namespaces.get('a')).toBeUndefined();
    expect([namespaces.get('b'), namespaces.get('c')]).toMatchObject([
      { status: { phase: 'Terminating' } },
      { status: { phase: 'Active' } },
    ]);
    listener.replaced([namespace('a')]);
    expect(await namespaces.get('c')).toBeUndefined();
  });

  test('gets unknown namespaces from the cluster', async () => {
    const { namespaces, asked } = setUp();
    expect(await namespaces.get('a/b')).toBeUndefined();
    expect(asked).toEqual(['follow /api/v1/namespaces', 'GET /api/v1/namespaces/a%2Fb']);
  });
});
