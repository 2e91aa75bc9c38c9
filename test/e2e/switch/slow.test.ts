import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { objectAt, stringAt } from '../../../src/apimachinery/json/json.js';
import { digList, digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { pause } from '../../storage/mongod.js';
import { isKnownEverywhere } from '../parts/adoption-discovery.js';
import { describeOnCluster, say } from '../suite.js';
import { available, type Condition, condition, definitionText, read, widgetsPath, widgetText } from '../widgets.js';
import { SwitchWriter } from './writers.js';

const NAMESPACE = 'slow';
const VERSIONS = ['v1', 'v1beta1'];
const COUNT = 100;
const BEHIND = [700, 2_000];
const groupOf = (millis: number): string => `behind-${millis}.example.com`;
const TOO_LATE = 'too-late.example.com';
const STUCK = 'stuck.example.com';
const REFUSING = 'refusing.example.com';
const GROUPS = [...BEHIND.map(groupOf), TOO_LATE, STUCK, REFUSING];
/** A kube-apiserver that is so far behind does not observe a fence within the time for which writes may be refused. */
const HOPELESS_MILLIS = 20_000;

/** The Lease of a leader that is gone has ended by then, and another replica leads. */
const LEASE_MILLIS = 20_000;

/** The machine of the tests may be slow: what is tested is that a switch ends, not when. */
const PATIENT_SECONDS = 60;

describeOnCluster(
  'a group moves although a kube-apiserver is slow',
  { apiservers: 2, late: true, groups: GROUPS },
  (cluster) => {
    let made = 0;
    const writers = (group: string): SwitchWriter[] =>
      Array.from({ length: 2 }, () => new SwitchWriter(cluster.https, group, NAMESPACE, `busy-${made++}`));

    const change = (group: string, spec: JsonObject): Promise<unknown> =>
      cluster.kubectl.ok(['patch', 'adoption', group, '--type=merge', '-p', JSON.stringify({ spec })]);

    const holds = (group: string, type: string): Promise<Condition> =>
      condition(cluster, `adoption/${group}`, type, ({ status }) => status === 'True');

    const statusOf = async (group: string): Promise<JsonObject> => {
      const answer = await cluster.http.get(`/apis/kubeannex.io/v1alpha1/adoptions/${group}`);
      return objectAt(treeOf(answer), 'status') ?? {};
    };

    const reaches = (group: string, phase: string): Promise<true> =>
      eventually(`${group} is ${phase}`, async () =>
        stringAt(await statusOf(group).catch(() => ({})), 'phase') === phase ? true : undefined,
      );

    const shown = async (group: string, server = cluster.http): Promise<Map<string, JsonObject>> => {
      const answer = await read(server, `/apis/${group}/v1/widgets`);
      expect(answer.status).toBe(200);
      const items = digList(treeOf(answer), 'items') as JsonObject[];
      return new Map(
        items.map((one) => [`${digText(one, 'metadata', 'namespace')}/${digText(one, 'metadata', 'name')}`, one]),
      );
    };

    /** Stops the writers: nothing that was acknowledged is lost at either kube-apiserver. */
    const settle = async (group: string, busy: readonly SwitchWriter[], known?: RegExp): Promise<void> => {
      await Promise.all(busy.map((writer) => writer.stop()));
      for (const server of cluster.https) {
        for (const writer of busy) writer.check(await shown(group, server));
      }
      const problems = busy.flatMap((writer) => writer.problems);
      expect(problems.filter((problem) => known?.test(problem) !== true)).toEqual([]);
      const longest = busy.map((writer) => (writer.longest / 1000).toFixed(1)).join();
      say(`acknowledged ${busy.map(({ acknowledged }) => acknowledged).join()}, longest without ${longest} s`);
    };

    /** Waits until each writer has made another write. */
    const writeAgain = async (busy: readonly SwitchWriter[]): Promise<void> => {
      const counts = busy.map(({ acknowledged }) => acknowledged);
      await eventually('all write again', () =>
        Promise.resolve(busy.every(({ acknowledged }, i) => acknowledged > (counts[i] ?? 0) + 10) || undefined),
      );
    };

    test('the groups have objects and are rehearsed', async () => {
      await available(cluster, 'kubeannex.io', 'v1alpha1');
      await cluster.kubectl.ok(['create', 'namespace', NAMESPACE]);
      for (const group of GROUPS) {
        await cluster.kubectl.ok(['create', '-f', '-'], { stdin: definitionText(group, 'cluster', VERSIONS) });
        for (const server of cluster.https) {
          await eventually('widgets are served', async () =>
            (await server.get(widgetsPath(NAMESPACE, '', group))).status === 200 ? true : undefined,
          );
        }
        for (let i = 0; i < COUNT; i++) {
          const body = widgetText(`w-${i}`, { colour: 'green' }, {}, group);
          const answer = await cluster.http.send({ method: 'POST', path: widgetsPath(NAMESPACE, '', group), body });
          expect(answer.status).toBe(201);
        }
        const spec = { maxWriteRefusalSeconds: PATIENT_SECONDS };
        const adoption = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name: group }, spec };
        await cluster.kubectl.ok(['create', '-f', '-'], { stdin: JSON.stringify(adoption) });
      }
      for (const group of GROUPS) await holds(group, 'InSync');
    });

    test.each(BEHIND)('%d ms behind etcd, there and back', async (millis) => {
      const group = groupOf(millis);
      cluster.late.behindMillis = millis;
      const busy = writers(group);
      await change(group, { servedBy: 'Annex' });
      say((await holds(group, 'Switched')).message);
      await writeAgain(busy);
      await change(group, { servedBy: 'Cluster', dependents: 'Abandon' });
      say((await holds(group, 'Returned')).message);
      await writeAgain(busy);
      await settle(group, busy);
      await isKnownEverywhere(cluster, group, VERSIONS);
      cluster.late.behindMillis = 0;
    });

    test('a kube-apiserver that observes a policy too late is waited for before writes are refused', async () => {
      cluster.late.behindMillis = 5_000;
      const busy = writers(TOO_LATE);
      await change(TOO_LATE, { servedBy: 'Annex', maxWriteRefusalSeconds: 10 });
      const waits = await condition(cluster, `adoption/${TOO_LATE}`, 'Ready', ({ message }) =>
        message.includes('observe a policy only after'),
      );
      say(waits.message);
      expect(waits.status).toBe('True');
      expect(busy.map(({ refused }) => refused)).toEqual([0, 0]);
      cluster.late.behindMillis = 0;
      await change(TOO_LATE, { maxWriteRefusalSeconds: PATIENT_SECONDS });
      say((await holds(TOO_LATE, 'Switched')).message);
      await writeAgain(busy);
      await settle(TOO_LATE, busy);
    });

    test('a switch that refuses writes for as long as it may is given up, and tried again by itself', async () => {
      const busy = writers(STUCK);
      await change(STUCK, { servedBy: 'Annex', maxWriteRefusalSeconds: 15 });
      await reaches(STUCK, 'Fencing');
      cluster.late.behindMillis = HOPELESS_MILLIS;
      const began = performance.now();
      const { message } = await condition(
        cluster,
        `adoption/${STUCK}`,
        'Switched',
        ({ reason }) => reason === 'GivenUp',
      );
      say(`${message}; ${((performance.now() - began) / 1000).toFixed(1)} s later`);
      expect(message).toMatch(/^the switch is given up: .*; it is tried again after 20/);
      cluster.late.behindMillis = 0;
      await writeAgain(busy);
      await change(STUCK, { maxWriteRefusalSeconds: PATIENT_SECONDS });
      say((await holds(STUCK, 'Switched')).message);
      await writeAgain(busy);
      await settle(STUCK, busy, /went back/);
    });

    test('a return that refuses writes for as long as it may leaves the group with Annex', async () => {
      const { daemon } = cluster.replica(1);
      await daemon.stop('SIGKILL');
      daemon.start();
      await cluster.replicasReady(2);
      // By then, the other replica leads.
      await pause(LEASE_MILLIS);
      const busy = writers(STUCK);
      await writeAgain(busy);
      const path = `/apis/kubeannex.io/v1alpha1/adoptions/${STUCK}`;
      const ofLeader = async (): Promise<JsonObject> =>
        objectAt(treeOf(await cluster.direct(0).get(path)), 'status') ?? {};
      await change(STUCK, { servedBy: 'Cluster', dependents: 'Abandon', maxWriteRefusalSeconds: 10 });
      try {
        await eventually('the gate closes', async () =>
          stringAt(objectAt(await ofLeader(), 'switch'), 'back') === 'Closing' ? true : undefined,
        );
        daemon.signal('SIGSTOP');
        const message = await eventually('the return is given up', async () => {
          const found = digList(await ofLeader(), 'conditions').find((one) => digText(one, 'reason') === 'TookTooLong');
          return found === undefined ? undefined : digText(found, 'message');
        });
        say(message);
        expect(message).toMatch(/^Annex continues to serve the group: .*; it is tried again in five minutes$/);
      } finally {
        daemon.signal('SIGCONT');
      }
      await cluster.replicasReady(2);
      await writeAgain(busy);
      await change(STUCK, { maxWriteRefusalSeconds: PATIENT_SECONDS });
      say((await holds(STUCK, 'Returned')).message);
      await writeAgain(busy);
      await settle(STUCK, busy);
      await isKnownEverywhere(cluster, STUCK, VERSIONS);
    });

    test('a switch does not begin while a kube-apiserver refuses connections', async () => {
      await cluster.second?.stop('SIGKILL');
      const found = await condition(cluster, `adoption/${REFUSING}`, 'Switchable', ({ status }) => status === 'False');
      say(found.message);
      expect(found.reason).toBe('KubeAPIServerUnreachable');
      expect(found.message).toContain(cluster.apiservers[1]);
      await change(REFUSING, { servedBy: 'Annex' });
      const created = await cluster.http.send({
        method: 'POST',
        path: widgetsPath(NAMESPACE, '', REFUSING),
        body: widgetText('meanwhile', { colour: 'red' }, {}, REFUSING),
      });
      expect(created.status).toBe(201);
      expect(stringAt(await statusOf(REFUSING), 'phase')).toBe('InSync');
      cluster.second?.start();
      await holds(REFUSING, 'Switchable');
      say((await holds(REFUSING, 'Switched')).message);
      expect((await shown(REFUSING)).has(`${NAMESPACE}/meanwhile`)).toBe(true);
    });
  },
);
