import { request } from 'node:https';
import { type Answer, dig, digList, digText, Http1, treeOf, WatchReader } from '../../integration/client.js';
import { ADMIN, eventually } from '../../integration/server.js';
import { pause } from '../../storage/mongod.js';
import type { TestCluster } from '../cluster.js';
import { Informer, informerMissing } from '../informer.js';
import { Load, type LoadReport } from '../load.js';
import { GROUP, widgetsPath, widgetText } from '../widgets.js';

const NAMESPACE = 'faults';
const STOP_MILLIS = 60_000;

/** Failed components are replaced, and no data is lost. */
export function faults(cluster: TestCluster, say: (line: string) => void): void {
  const path = widgetsPath(NAMESPACE);

  async function stored(): Promise<Map<string, string>> {
    const answer = await eventually('a list', async () => {
      const list = await cluster.http.get(path).catch(() => undefined);
      return list?.status === 200 ? list : undefined;
    });
    const items = digList(treeOf(answer), 'items');
    return new Map(
      items.map((item) => [digText(item, 'metadata', 'name'), digText(item, 'metadata', 'resourceVersion')]),
    );
  }

  /** Checks that every acknowledged write exists, at the acknowledged version. */
  async function nothingLost(what: string, report: LoadReport): Promise<void> {
    for (const text of report.said) say(text);
    say(
      `${what}: ${report.acknowledged.size} acknowledged, else ${JSON.stringify(report.refused)}, longest gap ${report.gap} ms`,
    );
    const now = await stored();
    const lost = [...report.acknowledged].filter(([name, version]) => now.get(name) !== version);
    expect(lost).toEqual([]);
    expect(report.acknowledged.size).toBeGreaterThan(10);
  }

  /** Returns what Annex decides about the APIServices. Their status belongs to the cluster. */
  async function registrations(): Promise<object[]> {
    const text = await cluster.kubectl.ok([
      'get',
      'apiservices',
      '-l',
      'app.kubernetes.io/managed-by=annex',
      '-o',
      'json',
      '--show-managed-fields',
    ]);
    return digList(treeOf({ text }), 'items').map((item) => ({
      spec: dig(item, 'spec'),
      // Includes the times of Annex's own writes.
      writes: digList(item, 'metadata', 'managedFields').filter((entry) => digText(entry, 'subresource') === ''),
    }));
  }

  const watch = async (): Promise<WatchReader> => {
    const from = digText(treeOf(await cluster.http.get(path)), 'metadata', 'resourceVersion');
    const response = await cluster.http.open({ path: `${path}?watch=true&resourceVersion=${from}` });
    return new WatchReader(response);
  };

  describe('faults', () => {
    beforeAll(() => cluster.kubectl.ok(['create', 'namespace', NAMESPACE]));

    test('a rolling restart loses nothing and edits no APIService', async () => {
      const before = await registrations();
      const load = new Load(cluster, NAMESPACE, 'roll');
      for (const { daemon } of cluster.replicas) {
        const open = await Promise.all([watch(), watch()]);
        const millis = await daemon.stop('SIGTERM');
        say(`${daemon.name} ended within ${Math.round(millis)} ms, with ${open.length} watches open`);
        expect(daemon.exitCode).toBe(0);
        expect(millis).toBeLessThan(STOP_MILLIS);
        daemon.start();
        await cluster.replicasReady(2);
      }
      const report = await load.stop();
      await nothingLost('rolling restart', report);
      expect([report.refused, report.said]).toEqual([{}, []]);
      expect(await registrations()).toEqual(before);
    });

    test('a replica started without MongoDB waits for it, and denies no valid request', async () => {
      const { daemon, port } = cluster.replica(1);
      // The server's certificate is in the store, so it is unknown here.
      const http = new Http1({ url: `https://127.0.0.1:${port}`, ca: '' }, 16, { trusting: true });
      const ask = (at: string): Promise<Answer | undefined> => http.get(at).catch(() => undefined);
      await daemon.stop('SIGTERM');
      for (const member of cluster.mongodb.members) member.freeze();
      const paths = [path, `/apis/${GROUP}`, '/apis', '/openapi/v3', '/apis/kubeannex.io/v1/resourcedefinitions'];
      try {
        daemon.start();
        await eventually('it listens', async () => ((await ask('/livez'))?.status === 200 ? true : undefined));
        expect((await ask('/readyz'))?.status).toBe(500);
        for (const at of paths) {
          const answer = await ask(at);
          expect([at, answer?.status, answer?.headers['retry-after']]).toEqual([at, 503, '5']);
        }
        // Longer than one attempt to reach MongoDB.
        await pause(8_000);
        expect([daemon.alive, (await ask('/livez'))?.status]).toEqual([true, 200]);
      } finally {
        for (const member of cluster.mongodb.members) member.thaw();
      }
      await Promise.all(
        paths.map((at) =>
          eventually(`${at} is served`, async () => {
            const answer = await ask(at);
            if (answer === undefined || answer.status === 503) return undefined;
            expect([at, answer.status]).toEqual([at, 200]);
            return true;
          }),
        ),
      );
      await cluster.replicasReady(2);
    });

    test('a replica exits in time even if a request does not end', async () => {
      const { daemon, port } = cluster.replica(1);
      const headers = { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json', 'content-length': '100' };
      const held = request({ port, host: '127.0.0.1', method: 'POST', path, headers, rejectUnauthorized: false });
      held.on('error', () => undefined);
      held.write('{');
      let seen = 0;
      // The gauge covers the time since the previous reading.
      await eventually('it is in flight', async () => {
        const { text } = await cluster.direct(1).get('/metrics');
        seen = /^apiserver_current_inflight_requests\{request_kind="mutating"\} [1-9]/m.test(text) ? seen + 1 : 0;
        return seen === 3 ? true : undefined;
      });
      const millis = await daemon.stop('SIGTERM');
      say(`${daemon.name} ended within ${Math.round(millis)} ms, with a body that did not end`);
      held.destroy();
      expect(daemon.exitCode).toBe(0);
      expect(millis).toBeGreaterThan(10_000);
      expect(millis).toBeLessThan(STOP_MILLIS);
      daemon.start();
      await cluster.replicasReady(2);
    });

    (informerMissing ? test.skip : test)('an informer misses nothing while replicas are killed', async () => {
      const informer = new Informer(cluster.adminConfig, NAMESPACE, true);
      await informer.sees('synced');
      const load = new Load(cluster, NAMESPACE, 'kill');
      for (const { daemon } of cluster.replicas) {
        await pause(1_000);
        await daemon.stop('SIGKILL');
        daemon.start();
        await cluster.replicasReady(2);
      }
      const report = await load.stop();
      await nothingLost('kill -9 of each replica', report);
      for (const name of report.acknowledged.keys()) await informer.sees('add', name);
      const { keys } = await informer.end();
      const now = await stored();
      expect(keys).toEqual([...now].map(([name, version]) => `${name}@${version}`).sort());
      const twice = [...report.acknowledged.keys()].filter((name) => informer.count('add', name) !== 1);
      expect(twice).toEqual([]);
    });

    test('the primary of MongoDB steps down, and a new one takes over', async () => {
      const reader = await watch();
      const load = new Load(cluster, NAMESPACE, 'step');
      await pause(1_000);
      await cluster.mongodb.command({ replSetStepDown: 30, secondaryCatchUpPeriodSecs: 5 });
      const before = load.count;
      await eventually('writes go on', () => Promise.resolve(load.count > before + 20 ? true : undefined));
      const report = await load.stop();
      await nothingLost('step-down of the primary', report);
      for (const status of Object.keys(report.refused)) expect(['503', '504']).toContain(status);
      // The existing watch has delivered every event once.
      const names = [...report.acknowledged.keys()];
      await reader.until(({ events }) =>
        events.some(({ object }) => digText(object, 'metadata', 'name') === names.at(-1)),
      );
      const seen = reader.events.map(({ object }) => digText(object, 'metadata', 'name'));
      expect(names.filter((name) => seen.filter((one) => one === name).length !== 1)).toEqual([]);
    });

    test('without a MongoDB majority, cached reads, discovery, and health continue; then all recovers', async () => {
      const [first, second] = cluster.mongodb.members;
      await Promise.all([first?.kill('SIGKILL'), second?.kill('SIGKILL')]);
      const replica = cluster.direct(0);
      const answer = await eventually('a write is refused', async () => {
        const tried = await replica.post(path, widgetText(`down-${performance.now().toFixed(0)}`, { colour: 'red' }));
        return tried.status === 503 || tried.status === 504 ? tried : undefined;
      });
      expect(answer.headers['retry-after']).toBeDefined();
      const found = await Promise.all(
        ['/apis', `/apis/${GROUP}/v1`, `/openapi/v3/apis/${GROUP}/v1`, '/livez/ping'].map((one) => replica.get(one)),
      );
      expect(found.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const ready = await replica.send({ path: '/readyz', token: '' });
      expect([ready.status, ready.text]).toEqual([200, 'ok']);
      expect((await replica.get('/readyz/etcd')).status).toBe(500);
      await Promise.all([first?.launch(), second?.launch()]);
      await cluster.replicasReady(2);
      await eventually('writes go on', async () => {
        const tried = await cluster.http.post(
          path,
          widgetText(`up-${performance.now().toFixed(0)}`, { colour: 'red' }),
        );
        return tried.status === 201 ? true : undefined;
      });
    });

    test('the API server of the cluster restarts', async () => {
      await cluster.apiserver.stop('SIGKILL');
      // Requests that need no answer from the cluster continue.
      expect((await cluster.direct(0).send({ path: '/readyz', token: '' })).status).toBe(200);
      cluster.apiserver.start();
      await cluster.apiserverReady();
      await cluster.kubectl.ok(['wait', 'apiservice', `v1.${GROUP}`, '--for=condition=Available', '--timeout=60s']);
      await cluster.kubectl.ok(['create', 'namespace', 'after-restart']);
      const made = await cluster.http.post(widgetsPath('after-restart'), widgetText('one', { colour: 'red' }));
      expect(made.status).toBe(201);
      await cluster.kubectl.ok(['delete', 'namespace', 'after-restart', '--timeout=60s']);
    });
  });
}
