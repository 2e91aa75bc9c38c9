import type { JsonValue } from '../../../src/apimachinery/json/json.js';
import { dig, digList, digText, type Http1, treeOf, WatchReader } from '../../integration/client.js';
import type { TestCluster } from '../cluster.js';
import { Informer, informerMissing } from '../informer.js';
import { widgetsPath, widgetText } from '../widgets.js';

const NAMESPACE = 'watched';
const WRITES = 60;

/** Watches through the aggregator and from each replica, during writes to both replicas. */
export function watches(cluster: TestCluster): void {
  const path = widgetsPath(NAMESPACE);
  const clients = (): Http1[] => [cluster.http, cluster.direct(0), cluster.direct(1)];
  const list = async (client: Http1, query = ''): Promise<JsonValue> => treeOf(await client.get(path + query));
  const versionOf = (object: JsonValue | undefined): string => digText(object, 'metadata', 'resourceVersion');

  async function watch(client: Http1, from: string): Promise<WatchReader> {
    const response = await client.open({ path: `${path}?watch=true&resourceVersion=${from}` });
    expect(response.statusCode).toBe(200);
    return new WatchReader(response);
  }

  describe('watches', () => {
    beforeAll(() => cluster.kubectl.ok(['create', 'namespace', NAMESPACE]));

    test('every watch delivers every event once, in the same order', async () => {
      const from = versionOf(await list(cluster.http));
      const readers = await Promise.all(clients().map((client) => watch(client, from)));
      const write = async (i: number): Promise<void> => {
        const client = clients()[i % 3] ?? cluster.http;
        const answer = await client.post(path, widgetText(`w-${i}`, { colour: 'red' }));
        expect(answer.status).toBe(201);
      };
      await Promise.all(Array.from({ length: WRITES }, (_, i) => write(i)));
      const seen: (readonly [type: string, version: string])[][] = [];
      for (const reader of readers) {
        await reader.until(({ events }) => events.length >= WRITES);
        seen.push(reader.events.map((event) => [digText(event, 'type'), versionOf(event['object'])] as const));
      }
      expect(seen[0]).toHaveLength(WRITES);
      expect(seen[1]).toEqual(seen[0]);
      expect(seen[2]).toEqual(seen[0]);
      const versions = seen[0]?.map(([, version]) => BigInt(version)) ?? [];
      expect(versions).toEqual([...versions].sort((a, b) => (a < b ? -1 : 1)));
    });

    test('a watch or list of one replica continues on the other', async () => {
      const all = digList(await list(cluster.direct(0)), 'items').map(versionOf);
      const first = await list(cluster.direct(0), '?limit=25');
      const token = encodeURIComponent(digText(first, 'metadata', 'continue'));
      const rest = await list(cluster.direct(1), `?limit=500&continue=${token}`);
      expect([...digList(first, 'items'), ...digList(rest, 'items')].map(versionOf)).toEqual(all);
      expect(versionOf(rest)).toBe(versionOf(first));
      const middle = [...all].sort((a, b) => Number(a) - Number(b))[WRITES / 2] ?? '';
      const resumed = await watch(cluster.direct(1), middle);
      await resumed.until(({ events }) => events.length >= WRITES / 2 - 1);
    });

    test('a replica returns what the other has written', async () => {
      const made = await cluster.direct(0).post(path, widgetText('fresh', { colour: 'blue' }));
      const read = await cluster.direct(1).get(`${path}/fresh`);
      expect(treeOf(read)).toEqual(treeOf(made));
    });

    test('the streaming list ends with its bookmark', async () => {
      const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const response = await cluster.http.open({ path: `${path}?${query}` });
      expect(response.statusCode).toBe(200);
      const reader = new WatchReader(response);
      await reader.until(({ events }) => events.some(({ type }) => type === 'BOOKMARK'));
      const [bookmark] = reader.events.splice(-1);
      expect(dig(bookmark?.['object'], 'metadata', 'annotations')).toEqual({ 'k8s.io/initial-events-end': 'true' });
      expect(reader.events.map(({ type }) => type)).toEqual(reader.events.map(() => 'ADDED'));
      expect(reader.events).toHaveLength(WRITES + 1);
    });

    (informerMissing ? test.skip : test).each([
      ['streaming list', true],
      ['list, then watch', false],
    ])('an informer of client-go follows by %s', async (what, streaming) => {
      const informer = new Informer(cluster.adminConfig, NAMESPACE, streaming);
      const synced = await informer.sees('synced');
      const before = digList(await list(cluster.http), 'items');
      expect(digList(synced, 'keys')).toHaveLength(before.length);
      const name = `informed-${String(streaming)}`;
      await cluster.direct(0).post(path, widgetText(name, { colour: 'red' }));
      await informer.sees('add', name);
      const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } };
      await cluster.direct(1).send({ ...patch, path: `${path}/${name}`, body: { spec: { replicas: 7 } } });
      await informer.sees('update', name);
      await cluster.http.send({ method: 'DELETE', path: `${path}/${name}` });
      await informer.sees('delete', name);
      const { keys, lists, streamed } = await informer.end();
      const items = digList(await list(cluster.http), 'items');
      expect(keys).toEqual(items.map((item) => `${digText(item, 'metadata', 'name')}@${versionOf(item)}`).sort());
      expect({ what, lists: Math.min(lists, 1), streamed: Math.min(streamed, 1) }).toEqual({
        what,
        lists: streaming ? 0 : 1,
        streamed: streaming ? 1 : 0,
      });
    });
  });
}
