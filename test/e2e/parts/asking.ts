import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { type Answer, dig, digList, digText, type Http1, treeOf, WatchReader } from '../../integration/client.js';
import { eventually, MAIN } from '../../integration/server.js';
import { run, type TestCluster } from '../cluster.js';
import { GROUP, widgetsPath, widgetText } from '../widgets.js';

const NAMESPACE = 'asked';

const namesOf = (list: JsonObject): readonly string[] =>
  digList(list, 'items').map((item) => digText(item, 'metadata', 'name'));

/** where, orderBy and count through the aggregator and from each replica. */
export function asking(cluster: TestCluster): void {
  const path = widgetsPath(NAMESPACE);
  const clients = (): readonly Http1[] => [cluster.http, cluster.direct(0), cluster.direct(1)];
  const ask = (client: Http1, parameters: Record<string, string>, accept = 'application/json'): Promise<Answer> =>
    client.get(`${path}?${new URLSearchParams(parameters).toString()}`, { accept });

  describe('asking', () => {
    beforeAll(async () => {
      await cluster.kubectl.ok(['create', 'namespace', NAMESPACE]);
      const colours = ['red', 'green', 'blue'];
      for (let i = 0; i < 9; i++) {
        // One has no number, so that expressions fail on it.
        const spec = {
          colour: colours[i % 3],
          ...(i === 4 ? { free: { x: 1 } } : { size: 'abcdefghi'.slice(0, 1 + (i % 4)) }),
        };
        const answer = await cluster.http.post(path, widgetText(`a${String(i)}`, { ...spec, replicas: i }));
        expect(answer.status).toBe(201);
      }
    });

    test.each<[Record<string, string>, string, string]>([
      [{ where: 'object.spec.replicas > 5' }, 'a6 a7 a8', 'where'],
      [{ where: "object.spec.colour == 'red'", labelSelector: '!x' }, 'a0 a3 a6', 'where'],
      [{ orderBy: 'object.spec.replicas desc', limit: '3' }, 'a8 a7 a6', 'orderBy'],
      [
        { orderBy: 'object.spec.colour, object.spec.replicas desc', count: 'exact', limit: '4' },
        'a8 a5 a2 a7',
        'orderBy, count',
      ],
      [
        { where: "object.metadata.creationTimestamp > now - duration('1h')", limit: '1', count: 'exact' },
        'a0',
        'where, count',
      ],
    ])('%j: the aggregator and both replicas answer alike', async (parameters, names, applied) => {
      for (const client of clients()) {
        const answer = await ask(client, parameters);
        expect(answer.status).toBe(200);
        expect(namesOf(treeOf(answer)).join(' ')).toBe(names);
        expect(answer.headers['annex-applied']).toBe(applied);
        if (applied.includes('count'))
          expect(dig(treeOf(answer), 'metadata', 'remainingItemCount')).toBe(9 - namesOf(treeOf(answer)).length);
      }
    });

    test('pages are continued by whichever replica gets the token', async () => {
      const seen: string[] = [];
      let token = '';
      for (let page = 0; page < 9; page++) {
        const client = clients()[page % 3] ?? cluster.http;
        const parameters = { orderBy: 'object.spec.replicas desc', where: 'object.spec.replicas != 3', limit: '2' };
        const list = treeOf(await ask(client, { ...parameters, ...(token !== '' && { continue: token }) }));
        seen.push(...namesOf(list));
        token = digText(list, 'metadata', 'continue');
        if (token === '') break;
      }
      expect(seen.join(' ')).toBe('a8 a7 a6 a5 a4 a2 a1 a0');
    });

    test('Tables, metadata and warnings pass the aggregator', async () => {
      const where = 'object.spec.size.size() > 2';
      const table = await ask(cluster.http, { where }, 'application/json;as=Table;v=v1;g=meta.k8s.io');
      expect(
        digList(treeOf(table), 'rows')
          .map((row) => digText(row, 'object', 'metadata', 'name'))
          .join(' '),
      ).toBe('a2 a3 a6 a7');
      expect(table.headers['annex-applied']).toBe('where');
      expect(table.headers['warning']).toMatch(
        /^299 - "where: failed on 1 object, which the list leaves out: widgets\/asked\/a4: no such key: size"/,
      );
      const metadata = await ask(
        cluster.http,
        { where },
        'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
      );
      expect(namesOf(treeOf(metadata)).join(' ')).toBe('a2 a3 a6 a7');
    });

    test('mistakes, and the parameters on other verbs, are 400', async () => {
      expect((await ask(cluster.http, { where: 'object.spec.colur == "red"' })).text).toContain(
        "undefined field 'colur'",
      );
      for (const query of ['where=true', 'where=', 'orderBy=object.spec', 'count=exact']) {
        const answer = await cluster.http.send({ method: 'DELETE', path: `${path}?${query}` });
        expect([query, answer.status]).toEqual([query, 400]);
      }
      expect(namesOf(treeOf(await cluster.http.get(path)))).toHaveLength(9);
    });

    test('a watch shows what begins to match and what ceases to', async () => {
      const readers = await Promise.all(
        clients().map(async (client) => {
          const list = treeOf(await ask(client, { where: 'object.spec.replicas > 6' }));
          const query = new URLSearchParams({
            ...{ watch: 'true', where: 'object.spec.replicas > 6' },
            resourceVersion: digText(list, 'metadata', 'resourceVersion'),
          });
          const response = await client.open({ path: `${path}?${query.toString()}` });
          expect([response.statusCode, response.headers['annex-applied']]).toEqual([200, 'where']);
          return new WatchReader(response);
        }),
      );
      const patch = {
        method: 'PATCH',
        path: `${path}/a5`,
        headers: { 'content-type': 'application/merge-patch+json' },
      };
      for (const replicas of [7, 8, 2]) await cluster.http.send({ ...patch, body: { spec: { replicas } } });
      for (const reader of readers) {
        await reader.until(({ events }) => events.length >= 3);
        expect(
          reader.events.map(({ type, object }) => `${digText(type)} ${digText(object, 'metadata', 'name')}`),
        ).toEqual(['ADDED a5', 'MODIFIED a5', 'DELETED a5']);
      }
    });

    test('a Query through the aggregator and at each replica', async () => {
      const query = {
        apiVersion: 'kubeannex.io/v1alpha1',
        kind: 'LocalQuery',
        metadata: { namespace: NAMESPACE },
        spec: {
          source: { group: GROUP, resource: 'widgets' },
          groupBy: [{ name: 'colour', expression: 'object.spec.colour' }],
          aggregates: [{ name: 'widgets', count: {} }],
          orderBy: [{ name: 'colour' }],
        },
      };
      for (const client of clients()) {
        const answer = await client.post(`/apis/kubeannex.io/v1alpha1/namespaces/${NAMESPACE}/localqueries`, query);
        expect([answer.status, dig(treeOf(answer), 'status', 'rows')]).toEqual([
          201,
          [
            ['blue', 3],
            ['green', 3],
            ['red', 3],
          ],
        ]);
      }
      expect(await cluster.kubectl.ok(['explain', 'localquery.spec.groupBy'])).toContain('expression');
    });

    test('a View is a kind of the cluster, the same at both replicas, until it is deleted', async () => {
      const { kubectl } = cluster;
      const definition = {
        apiVersion: 'kubeannex.io/v1alpha1',
        kind: 'View',
        metadata: { name: 'widgetcolours.views.kubeannex.io' },
        spec: {
          names: { plural: 'widgetcolours', kind: 'WidgetColour', shortNames: ['wcol'] },
          source: { group: GROUP, resource: 'widgets' },
          groupBy: [
            { name: 'namespace', expression: 'object.metadata.namespace' },
            { name: 'colour', expression: 'object.spec.colour' },
          ],
          aggregates: [{ name: 'widgets', count: {} }],
        },
      };
      await kubectl.ok(['apply', '--server-side', '-f', '-'], { stdin: JSON.stringify(definition) });
      await kubectl.ok(['wait', 'view/widgetcolours.views.kubeannex.io', '--for=condition=Ready', '--timeout=60s']);
      const rows = `/apis/views.kubeannex.io/v1alpha1/namespaces/${NAMESPACE}/widgetcolours`;
      const shown = async (client: Http1): Promise<readonly unknown[] | undefined> => {
        const answer = await client.get(rows);
        if (answer.status !== 200) return undefined;
        return digList(treeOf(answer), 'items').map((row) => [
          digText(row, 'metadata', 'name'),
          digText(row, 'metadata', 'uid'),
          dig(row, 'values', 'widgets'),
        ]);
      };
      // The aggregator learns of the group a moment after Annex serves it.
      await eventually('the kind', async () => ((await shown(cluster.http)) === undefined ? undefined : true));
      await eventually('discovery', () =>
        kubectl.ok(['get', 'wcol', '-n', NAMESPACE]).then(
          (text) => (text.includes('WIDGETS') ? true : undefined),
          () => undefined,
        ),
      );
      const [atCluster, ...atReplicas] = await Promise.all(clients().map(shown));
      expect(atCluster?.map((row) => (row as unknown[])[0])).toEqual(['blue', 'green', 'red']);
      expect(atReplicas).toEqual([atCluster, atCluster]);

      const readers = await Promise.all(
        clients().map(async (client) => {
          const { resourceVersion } = treeOf(await client.get(rows))['metadata'] as { resourceVersion: string };
          return new WatchReader(await client.open({ path: `${rows}?watch=1&resourceVersion=${resourceVersion}` }));
        }),
      );
      expect((await cluster.http.post(path, widgetText('b0', { colour: 'red' }))).status).toBe(201);
      expect((await cluster.http.send({ method: 'DELETE', path: `${path}/b0` })).status).toBe(200);
      const events: string[][] = [];
      for (const reader of readers) {
        await reader.until(({ events: seen }) => seen.length >= 2);
        events.push(
          reader.events.map(({ type, object }) =>
            [digText(type), digText(object, 'metadata', 'name'), digText(object, 'metadata', 'resourceVersion')].join(
              ' ',
            ),
          ),
        );
      }
      expect(events[0]?.map((event) => event.split(' ').slice(0, 2).join(' '))).toEqual([
        'MODIFIED red',
        'MODIFIED red',
      ]);
      expect(events).toEqual([events[0], events[0], events[0]]);

      await kubectl.ok(['delete', 'view', 'widgetcolours.views.kubeannex.io']);
      await eventually('the end of the kind', async () =>
        (await shown(cluster.http)) === undefined ? true : undefined,
      );
    });

    test('kubectl annex asks through the aggregator, and refuses the answer of a type that Annex does not serve', async () => {
      const annex = (...args: readonly string[]): Promise<string> =>
        run(process.execPath, [MAIN, ...args, '--kubeconfig', cluster.adminConfig, '-n', NAMESPACE]);
      expect(await annex('count', 'widgets', '--where', "object.spec.colour == 'green'")).toBe('3\n');
      expect(await annex('get', 'widgets', '--order-by', 'object.spec.colour', '--limit', '1', '-o', 'name')).toMatch(
        /^widget\..*\/a2\n$/,
      );
      await expect(annex('get', 'configmaps', '--where', 'true')).rejects.toThrow(/configmaps is not served by Annex/);
    });
  });
}
