import { dig, digList, digText, treeOf, WatchReader } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { pause } from '../../storage/mongod.js';
import type { TestCluster } from '../cluster.js';
import { Informer, informerMissing } from '../informer.js';
import { readiness } from '../service.js';
import { condition, GROUP, widgetsPath, widgetText } from '../widgets.js';

const NAMESPACE = 'outage';
/** How long MongoDB is away; five minutes in the campaign (E2E_OUTAGE_SECONDS=300). */
const AWAY_MILLIS = Number(process.env['E2E_OUTAGE_SECONDS'] ?? 25) * 1_000;
/** A request is refused within 3 s; the way through the aggregator takes a little longer on a busy machine. */
const REFUSED_MILLIS = 3_500;

/** All members of MongoDB are away at once, and the rest of the cluster does not notice. */
export function outage(cluster: TestCluster, say: (line: string) => void): void {
  const path = widgetsPath(NAMESPACE);
  const members = (): typeof cluster.mongodb.members => cluster.mongodb.members;

  const isServed = async (at: string): Promise<number> => (await cluster.http.get(at)).status;

  async function timed<T>(action: () => Promise<T>): Promise<{ value: T; millis: number }> {
    const begun = performance.now();
    const value = await action();
    return { value, millis: performance.now() - begun };
  }

  /** Waits until requests are refused because MongoDB is away. A write that was sent before that is answered later. */
  async function noticed(): Promise<void> {
    await eventually('the outage is noticed', async () => {
      const { value, millis } = await timed(() => cluster.http.get(path));
      if (value.status !== 503) return undefined;
      expect(millis).toBeLessThan(REFUSED_MILLIS);
      return true;
    });
    const { value, millis } = await timed(() => cluster.http.post(path, widgetText(name(), { colour: 'red' })));
    expect([value.status, millis < REFUSED_MILLIS]).toEqual([503, true]);
    const { message } = treeOf(value);
    expect(message).toMatch(/^the store is not available: MongoDB has not answered for \d+ s$/);
    expect(value.headers['retry-after']).toBe('1');
    // Each replica notices it by itself; until then it takes a change stream that ends for a fault of its own.
    for (const i of cluster.replicas.keys())
      await eventually('a replica notices the outage', async () => {
        const { status } = await cluster.direct(i).get('/readyz/etcd');
        return status === 500 || undefined;
      });
  }

  /** Open watches, which would keep the process alive. */
  const opened: { destroy(): void }[] = [];
  let number = 0;
  const name = (): string => `n${number++}`;

  /** What goes on without MongoDB, until the time is over. */
  async function goesOn(begun: number): Promise<void> {
    const version = digText(treeOf(await cluster.http.get(`${path}?resourceVersion=0`)), 'metadata', 'resourceVersion');
    for (let round = 0; round === 0 || performance.now() - begun < AWAY_MILLIS; round++) {
      for (const at of [
        '/apis',
        `/apis/${GROUP}/v1`,
        `/openapi/v3/apis/${GROUP}/v1`,
        `${path}?resourceVersion=0`,
        `${path}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`,
        `${path}?resourceVersion=${version}&resourceVersionMatch=Exact`,
        `${widgetsPath(NAMESPACE, 'first')}?resourceVersion=0`,
      ])
        expect([at, await isServed(at)]).toEqual([at, 200]);
      for (const { port } of cluster.replicas) expect(await readiness(port)).toBe('ok');
      const list = await timed(() => cluster.http.get(path));
      expect([list.value.status, list.millis < REFUSED_MILLIS]).toEqual([503, true]);
      const write = await timed(() => cluster.http.post(path, widgetText(name(), { colour: 'red' })));
      expect([write.value.status, write.millis < REFUSED_MILLIS]).toEqual([503, true]);
      await pause(1_000);
    }
  }

  async function commandsGoOn(): Promise<void> {
    for (const args of [['api-resources'], ['get', 'all', '--all-namespaces'], ['get', 'namespaces']])
      expect([args, (await cluster.kubectl.run(args)).code]).toEqual([args, 0]);
    const unrelated = `unrelated-${name()}`;
    await cluster.kubectl.ok(['create', 'namespace', unrelated]);
    const { millis } = await timed(() => cluster.kubectl.ok(['delete', 'namespace', unrelated, '--timeout=60s']));
    say(`an unrelated namespace is deleted within ${Math.round(millis)} ms`);
  }

  /** The condition of the definition tells of the outage. */
  const told = (status: string, message: RegExp): Promise<unknown> =>
    condition(cluster, `resourcedefinition/widgets.${GROUP}`, 'StoreAvailable', (one) => {
      return one.status === status && message.test(one.message);
    });

  /** A new watch that starts from memory. */
  async function watchOpens(): Promise<WatchReader> {
    const list = treeOf(await cluster.http.get(`${path}?resourceVersion=0`));
    const version = digText(list, 'metadata', 'resourceVersion');
    const response = await cluster.http.open({ path: `${path}?watch=true&resourceVersion=${version}` });
    expect(response.statusCode).toBe(200);
    opened.push(response);
    return new WatchReader(response);
  }

  async function recovers(begun: number): Promise<void> {
    await eventually('writes go on', async () => {
      const answer = await cluster.http.post(path, widgetText(`back-${name()}`, { colour: 'red' }));
      return answer.status === 201 ? true : undefined;
    });
    say(`MongoDB is back; the first write succeeds after ${Math.round(performance.now() - begun)} ms`);
    for (const { port } of cluster.replicas) expect(await readiness(port)).toBe('ok');
  }

  describe('an outage of MongoDB', () => {
    beforeAll(async () => {
      await cluster.kubectl.ok(['create', 'namespace', NAMESPACE]);
      expect((await cluster.http.post(path, widgetText('first', { colour: 'red' }))).status).toBe(201);
      await eventually('both replicas know it', async () => {
        const answers = await Promise.all(
          [0, 1].map((i) => cluster.direct(i).get(`${widgetsPath(NAMESPACE, 'first')}?resourceVersion=0`)),
        );
        return answers.every(({ status }) => status === 200) ? true : undefined;
      });
    });

    const freeze = (): Promise<void> => {
      for (const member of members()) member.freeze();
      return Promise.resolve();
    };
    const thaw = (): Promise<void> => {
      for (const member of members()) member.thaw();
      return Promise.resolve();
    };
    const kill = async (): Promise<void> => {
      await Promise.all(members().map((member) => member.kill('SIGKILL')));
    };
    const launch = async (): Promise<void> => {
      const down = members().filter(({ runs }) => !runs);
      await Promise.all(down.map((member) => member.launch()));
    };

    test.each<[string, () => Promise<void>, () => Promise<void>]>([
      ['hangs', freeze, thaw],
      ['is killed', kill, launch],
    ])('MongoDB %s: discovery, reads from memory, watches and namespaces go on', async (_, leave, comeBack) => {
      const informer = informerMissing ? undefined : new Informer(cluster.adminConfig, NAMESPACE, false);
      await informer?.sees('synced');
      const open = await watchOpens();
      await leave();
      const begun = performance.now();
      try {
        await noticed();
        const late = await watchOpens();
        await Promise.all([goesOn(begun), commandsGoOn()]);
        const { value, millis } = await timed(() => cluster.kubectl.run(['get', `widgets.${GROUP}`, '-n', NAMESPACE]));
        say(`kubectl get fails after ${Math.round(millis)} ms: ${value.stderr.trim()}`);
        expect(value.code).toBe(1);
        expect(value.stderr).toMatch(/MongoDB has not answered for \d+ s/);
        expect(millis).toBeLessThan(5_000);
        await told('False', /^MongoDB has not answered for \d+ s$/);
        const wait = await cluster.http.post(path, widgetText(name(), { colour: 'red' }));
        expect([wait.status, wait.headers['retry-after']]).toEqual([503, undefined]);
        const etcd = await cluster.direct(0).get('/readyz/etcd');
        expect([etcd.status, etcd.text]).toEqual([500, expect.stringContaining('MongoDB has not answered')]);
        const back = comeBack();
        const returned = performance.now();
        await back;
        await recovers(returned);
        for (const reader of [open, late])
          await reader.until(({ events }) =>
            events.some(({ object }) => digText(object, 'metadata', 'name').startsWith('back-')),
          );
        expect([open, late].flatMap(({ events }) => events.filter(({ type }) => type === 'ERROR'))).toEqual([]);
        if (informer !== undefined) {
          const items = digList(treeOf(await cluster.http.get(path)), 'items');
          const last = digText(items.at(-1), 'metadata', 'name');
          await informer.sees('add', last);
          const { keys, lists } = await informer.end();
          expect(keys).toEqual(
            items
              .map((item) => `${digText(item, 'metadata', 'name')}@${digText(item, 'metadata', 'resourceVersion')}`)
              .sort(),
          );
          expect(lists).toBe(1);
        }
        expect(dig(treeOf(await cluster.http.get('/apis')), 'kind')).toBeDefined();
        await told('True', /^the store answers again, after \d+ s$/);
      } finally {
        await comeBack().catch(() => undefined);
        for (const response of opened.splice(0)) response.destroy();
        await informer?.end();
      }
    });
  });
}
