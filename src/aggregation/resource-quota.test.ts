import type { AdmissionAttributes } from '../admission/interfaces.js';
import { ApiError } from '../apimachinery/meta/errors.js';
import { deepCopy, type JsonObject, objectAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError, type ClusterListener } from '../client/cluster-client.js';
import { ClusterQuotas } from './resource-quota.js';
import { NEVER_ABORTED } from '../util/never-aborted.js';

const KEY = 'count/widgets.example.com';

function quota(name: string, hard: string | undefined, used: string | undefined, spec: JsonObject = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name, namespace: 'ns', uid: name, resourceVersion: '1' },
    spec,
    status: {
      hard: hard === undefined ? {} : { [KEY]: hard },
      used: used === undefined ? {} : { [KEY]: used },
    },
  };
}

/** The quotas of the cluster, with optimistic concurrency. */
class Cluster {
  readonly quotas = new Map<string, KubeObject>();
  listener: ClusterListener | undefined;
  writes = 0;
  /** Runs once before the next write. */
  meanwhile: (() => void) | undefined;

  constructor(...quotas: KubeObject[]) {
    for (const one of quotas) this.quotas.set(one.metadata.name ?? '', one);
  }

  follow(_path: string, listener: ClusterListener): Promise<void> {
    this.listener = listener;
    return Promise.resolve();
  }

  sync(): void {
    this.listener?.replaced([...this.quotas.values()]);
  }

  must(method: string, path: string, body?: JsonObject): Promise<KubeObject | undefined> {
    const name = path.split('/')[6] ?? '';
    const current = this.quotas.get(name);
    if (method === 'GET' && name === '') {
      return Promise.resolve({ metadata: {}, items: [...this.quotas.values()] });
    }
    if (method === 'GET' || current === undefined || body === undefined) return Promise.resolve(current);
    expect(path).toBe(`/api/v1/namespaces/ns/resourcequotas/${name}/status`);
    this.meanwhile?.();
    this.meanwhile = undefined;
    const newest = this.quotas.get(name) ?? current;
    if (objectAt(body, 'metadata')?.['resourceVersion'] !== newest.metadata.resourceVersion) {
      return Promise.reject(new ClusterError(409, 'conflict'));
    }
    this.writes++;
    return Promise.resolve(this.put(body as KubeObject));
  }

  put(object: KubeObject): KubeObject {
    const next = deepCopy(object);
    next.metadata.resourceVersion = String(Number(next.metadata.resourceVersion) + 1);
    this.quotas.set(next.metadata.name ?? '', next);
    return next;
  }

  used(name: string): unknown {
    return objectAt(objectAt(this.quotas.get(name) ?? quota('', undefined, undefined), 'status'), 'used')?.[KEY];
  }
}

const reported = { broken: () => undefined, restored: () => undefined };

function quotasOf(cluster: Cluster, synced = true): ClusterQuotas {
  const quotas = new ClusterQuotas(cluster);
  void quotas.follow(new AbortController().signal, reported);
  if (synced) cluster.sync();
  return quotas;
}

const creation = (name: string, over: Partial<AdmissionAttributes> = {}): AdmissionAttributes => ({
  operation: 'CREATE',
  kind: { group: 'example.com', version: 'v1', kind: 'Widget' },
  resource: { group: 'example.com', version: 'v1', resource: 'widgets' },
  subresource: '',
  namespace: 'ns',
  name,
  object: undefined,
  oldObject: undefined,
  options: {},
  dryRun: false,
  user: { name: 'u', uid: '', groups: [], extra: {} },
  signal: () => NEVER_ABORTED,
  cancellation: NEVER_ABORTED,
  warn: () => undefined,
  annotate: () => undefined,
  ...over,
});

/** Returns the names of the admitted objects, and the messages of the refusals. */
async function outcome(
  quotas: ClusterQuotas,
  ...all: AdmissionAttributes[]
): Promise<{ passed: string[]; said: string[] }> {
  const passed: string[] = [];
  const said: string[] = [];
  await Promise.all(
    all.map(async (one) => {
      try {
        await quotas.validate(one);
        passed.push(one.name);
      } catch (error) {
        said.push(error instanceof ApiError ? `${error.code} ${error.message}` : String(error));
      }
    }),
  );
  return { passed, said };
}

describe('ClusterQuotas', () => {
  test('charges concurrent creations together, and refuses those beyond the limit', async () => {
    const cluster = new Cluster(quota('q', '3', '1'));
    const result = await outcome(quotasOf(cluster), creation('a'), creation('b'), creation('c'));
    // The first is charged alone; the others wait for its write and share the next one.
    expect(cluster.writes).toBe(2);
    expect(cluster.used('q')).toBe('3');
    expect(result).toEqual({
      passed: ['a', 'b'],
      said: [
        `403 widgets.example.com "c" is forbidden: exceeded quota: q, requested: ${KEY}=1, used: ${KEY}=3, limited: ${KEY}=3`,
      ],
    });
  });

  test('quantities are reported in canonical form', async () => {
    const { said } = await outcome(quotasOf(new Cluster(quota('q', '1k', '1000'))), creation('a'));
    expect(said[0]).toContain(`used: ${KEY}=1k, limited: ${KEY}=1k`);
  });

  test.each<[string, KubeObject, Partial<AdmissionAttributes>]>([
    ['another type', quota('q', undefined, undefined), {}],
    ['pods of a scope', quota('q', '0', '0', { scopes: ['BestEffort'] }), {}],
    ['pods of a selected scope', quota('q', '0', '0', { scopeSelector: {} }), {}],
    ['another namespace', quota('q', '0', '0'), { namespace: 'other' }],
    ['creations, of an update', quota('q', '0', '0'), { operation: 'UPDATE' }],
    ['objects, of a subresource', quota('q', '0', '0'), { subresource: 'status' }],
    ['namespaces, of cluster-scoped objects', quota('q', '0', '0'), { namespace: '' }],
  ])('a quota of %s is skipped synchronously', (_, one, over) => {
    expect(quotasOf(new Cluster(one)).validate(creation('a', over))).toBeUndefined();
  });

  test('a dry run is checked but not charged', async () => {
    const cluster = new Cluster(quota('q', '1', '0'), quota('full', '5', '5'));
    const quotas = quotasOf(cluster);
    const { said } = await outcome(quotas, creation('a', { dryRun: true }));
    expect(said).toEqual([expect.stringContaining('exceeded quota: full')]);
    expect([cluster.writes, cluster.used('q')]).toEqual([0, '0']);
  });

  test('a quota without usage in its status refuses', async () => {
    const { said } = await outcome(quotasOf(new Cluster(quota('q', '1', undefined))), creation('a'));
    expect(said).toEqual([`403 widgets.example.com "a" is forbidden: status unknown for quota: q, resources: ${KEY}`]);
  });

  test('after a conflict the quota is read and charged again', async () => {
    const cluster = new Cluster(quota('q', '2', '0'));
    cluster.meanwhile = () => {
      cluster.put({ ...quota('q', '2', '1'), metadata: { ...quota('q', '2', '1').metadata, resourceVersion: '1' } });
    };
    const quotas = quotasOf(cluster);
    expect(await outcome(quotas, creation('a'))).toEqual({ passed: ['a'], said: [] });
    expect(cluster.used('q')).toBe('2');
    expect((await outcome(quotas, creation('b'))).said).toHaveLength(1);
  });

  test('a quota that is deleted in the meantime limits nothing', async () => {
    const cluster = new Cluster(quota('q', '2', '0'));
    cluster.meanwhile = () => {
      cluster.put(quota('q', '2', '1'));
    };
    const quotas = quotasOf(cluster);
    const must = cluster.must.bind(cluster);
    cluster.must = (method, path, body) => {
      if (method === 'GET') return Promise.resolve(undefined);
      return must(method, path, body);
    };
    expect(await outcome(quotas, creation('a'))).toEqual({ passed: ['a'], said: [] });
  });

  test('quotas are read from the cluster before the first list, and none apply without the permission', async () => {
    expect((await outcome(quotasOf(new Cluster(quota('q', '1', '1')), false), creation('a'))).said).toHaveLength(1);
    const closed = new Cluster();
    closed.must = () => Promise.reject(new ClusterError(403, 'forbidden'));
    expect((await outcome(quotasOf(closed, false), creation('a'))).passed).toEqual(['a']);
    closed.must = () => Promise.reject(new ClusterError(0, 'away'));
    expect((await outcome(quotasOf(closed, false), creation('a'))).said).toEqual(['ClusterError: away']);
  });

  test('a late watch event does not undo a charge', async () => {
    const cluster = new Cluster(quota('q', '2', '0'));
    const quotas = quotasOf(cluster);
    await outcome(quotas, creation('a'));
    cluster.listener?.upsert(quota('q', '2', '0'));
    await outcome(quotas, creation('b'));
    expect(cluster.used('q')).toBe('2');
    expect((await outcome(quotas, creation('c'))).passed).toEqual([]);
  });
});
