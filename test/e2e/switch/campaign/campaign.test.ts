import type { JsonObject } from '../../../../src/apimachinery/json/json.js';
import { digList, digText, treeOf } from '../../../integration/client.js';
import { eventually } from '../../../integration/server.js';
import { Random } from '../../../model/random.js';
import { pause } from '../../../storage/mongod.js';
import { describeOnCluster, say } from '../../suite.js';
import { available, condition, definitionText, widgetsPath, widgetText } from '../../widgets.js';
import { SwitchWriter } from '../writers.js';
import { backOf, type Fault, FAULTS, phaseOf } from './faults.js';

const SEED = Number(process.env['ANNEX_ADOPTION_SEED'] ?? 1);
const ROUNDS = Number(process.env['ANNEX_ADOPTION_ROUNDS'] ?? 5);
const NAMESPACE = 'campaign';
const OBJECTS = 30;
const GROUPS = Array.from({ length: ROUNDS }, (_, i) => `c${i}.example.com`);
/** Every other group moves back to the cluster. */
const RETURNING = GROUPS.filter((_, i) => i % 2 === 1);
const MOMENTS = ['Preparing', 'Fencing', 'Switching', 'Served'];
const MOMENTS_BACK = ['Copying', 'Closing', 'Routing', 'over'];
/** After a fault ends, either the previous state is restored within this time, or the switch completes. */
const SETTLED_MILLIS = 30_000;
/** The factor by which a busy machine may exceed all time limits. */
const SLACK = Number(process.env['ANNEX_ADOPTION_SLACK'] ?? 2);
const OPTIONS = { apiservers: 2 as const, groups: GROUPS, proxied: true };

describeOnCluster(`adoptions survive ${ROUNDS} faults (seed ${SEED})`, OPTIONS, (cluster) => {
  const random = new Random(SEED);

  beforeAll(async () => {
    await available(cluster, 'kubeannex.io', 'v1alpha1');
    await cluster.kubectl.ok(['create', 'namespace', NAMESPACE]);
    for (const group of GROUPS) await rehearse(group);
    for (const group of GROUPS)
      await condition(cluster, `adoption/${group}`, 'InSync', ({ status }) => status === 'True');
    for (const group of RETURNING) {
      await want(group, 'Annex');
      expect(await reaches(group, ['Served'], 180_000)).toBe('Served');
    }
  });

  const rehearse = async (group: string): Promise<void> => {
    await cluster.kubectl.ok(['create', '-f', '-'], { stdin: definitionText(group, 'cluster') });
    for (const server of cluster.https) {
      await eventually('widgets are served', async () =>
        (await server.get(widgetsPath(NAMESPACE, '', group))).status === 200 ? true : undefined,
      );
    }
    for (let i = 0; i < OBJECTS; i++) {
      const body = widgetText(`w-${i}`, { colour: 'green' }, {}, group);
      expect((await cluster.http.send({ method: 'POST', path: widgetsPath(NAMESPACE, '', group), body })).status).toBe(
        201,
      );
    }
    const adoption = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name: group }, spec: {} };
    await cluster.kubectl.ok(['create', '-f', '-'], { stdin: JSON.stringify(adoption) });
  };

  const want = (group: string, servedBy: string): Promise<unknown> =>
    eventually(`the Adoption wants ${servedBy}`, async () => {
      const patch = JSON.stringify({ spec: { servedBy, dependents: 'Abandon' } });
      const { code } = await cluster.kubectl.run(['patch', 'adoption', group, '--type=merge', '-p', patch]);
      return code === 0 ? true : undefined;
    });

  const reaches = async (group: string, phases: readonly string[], millis: number): Promise<string> => {
    const end = performance.now() + millis;
    for (;;) {
      const phase = await phaseOf(cluster, group);
      if (phases.includes(phase)) return phase;
      if (performance.now() > end) return `${phase} (not ${phases.join()} within ${millis} ms)`;
      await pause(50);
    }
  };

  const injected = async (group: string): Promise<{ fault: Fault; heal: () => Promise<void> }> => {
    for (;;) {
      const fault = random.pick(FAULTS);
      const heal = await fault.inject(cluster, group, random);
      if (heal !== undefined) return { fault, heal };
    }
  };

  const shown = async (group: string, server = cluster.http): Promise<Map<string, JsonObject>> => {
    const answer = await eventually(`${group} is read`, async () => {
      const found = await server.get(`/apis/${group}/v1/widgets`).catch(() => undefined);
      return found?.status === 200 ? found : undefined;
    });
    const items = digList(treeOf(answer), 'items') as JsonObject[];
    return new Map(items.map((one) => [`${NAMESPACE}/${digText(one, 'metadata', 'name')}`, one]));
  };

  /** Waits until the way back has reached a step or a later one. Returns the step. */
  const returns = async (moment: string, group: string, millis: number): Promise<string> => {
    const wanted = MOMENTS_BACK.slice(MOMENTS_BACK.indexOf(moment));
    const end = performance.now() + millis;
    for (let began = false; performance.now() < end;) {
      const back = await backOf(cluster, group);
      began ||= back !== '';
      if (wanted.includes(began && back === '' ? 'over' : back)) return `Returning, ${back}`;
      await pause(20);
    }
    return `not ${moment} within ${millis} ms`;
  };

  test.each(GROUPS)('%s', async (group) => {
    const busy = [0, 1, 2].map((i) => new SwitchWriter(cluster.https, group, NAMESPACE, `busy-${i}`));
    const isBack = RETURNING.includes(group);
    const moment = random.pick(isBack ? MOMENTS_BACK.slice(0, -1) : MOMENTS);
    const [wait, length] = [random.below(1_500), 500 + random.below(6_000)];
    await want(group, isBack ? 'Cluster' : 'Annex');
    const reached = isBack
      ? await returns(moment, group, 240_000)
      : await reaches(group, MOMENTS.slice(MOMENTS.indexOf(moment)), 120_000);
    await pause(wait);
    const { fault, heal } = await injected(group);
    say(`${group}: ${fault.name}, ${wait} ms after ${reached}, for ${length} ms`);
    await pause(length);
    await heal();
    const healed = performance.now();
    const counts = busy.map(({ acknowledged }) => acknowledged);
    await eventually('all write again', () =>
      Promise.resolve(busy.every(({ acknowledged }, i) => acknowledged > (counts[i] ?? 0)) || undefined),
    );
    const again = performance.now() - healed;
    // Writes continue before anything was refused, of course, so what counts is the time until the move is over.
    const ends = isBack ? ['Served', 'InSync', 'Gone'] : ['Served', 'Failed', 'Gone'];
    const end = await reaches(group, ends, isBack ? 300_000 : 120_000);
    const settled = performance.now() - healed;
    const first = busy.map(({ acknowledged }) => acknowledged);
    await eventually('all go on writing', () =>
      Promise.resolve(busy.every(({ acknowledged }, i) => acknowledged > (first[i] ?? 0) + 5) || undefined),
    );
    await Promise.all(busy.map((writer) => writer.stop()));
    say(
      `${group}: ${end} after ${Math.round(settled)} ms, written again after ${Math.round(again)} ms; acknowledged ${busy.reduce((sum, { acknowledged }) => sum + acknowledged, 0)}, unknown ${busy.reduce((sum, { unknown }) => sum + unknown, 0)}, longest without ${busy.map(({ longest }) => Math.round(longest)).join()} ms`,
    );
    expect(ends).toContain(end);
    expect(again).toBeLessThan(SETTLED_MILLIS * SLACK);
    for (const server of cluster.https) {
      const found = await shown(group, server);
      expect([...found.keys()].filter((key) => key.startsWith(`${NAMESPACE}/w-`))).toHaveLength(OBJECTS);
      for (const writer of busy) writer.check(found);
    }
    expect(busy.flatMap(({ problems }) => problems)).toEqual([]);
    if (end !== (isBack ? 'Served' : 'Failed')) return;
    // Nothing remains that blocks the next move.
    await want(group, isBack ? 'Annex' : 'Cluster');
    await want(group, isBack ? 'Cluster' : 'Annex');
    const last = isBack ? 'InSync' : 'Served';
    expect(await reaches(group, [last], isBack ? 300_000 : 120_000)).toBe(last);
    expect((await shown(group)).size).toBeGreaterThanOrEqual(OBJECTS);
  });
});
