import { cpus } from 'node:os';
import { readFileSync } from 'node:fs';
import { type JsonObject, objectAt, stringAt } from '../../../src/apimachinery/json/json.js';
import { digList, treeOf } from '../../integration/client.js';
import { TestCluster } from '../../e2e/cluster.js';
import { SwitchReader, SwitchWriter } from '../../e2e/switch/writers.js';
import { pause } from '../../storage/mongod.js';
import { available, definitionText, widgetsPath, widgetText } from '../../e2e/widgets.js';

const GROUP = 'many.example.com';
const NAMESPACE = 'many';
const COUNT = Number(process.env['OBJECTS'] ?? 50_000);
const RATE = Number(process.env['RATE'] ?? 100_000);
/** COPY_ONLY=yes copies without switching. */
const COPY_ONLY = process.env['COPY_ONLY'] === 'yes';
const APISERVERS = process.env['APISERVERS'] === '1' ? 1 : 2;
const CREATORS = 32;
/** The interval of progress checks, in milliseconds. They load kube-apiserver, too. */
const ASK_MILLIS = 1_000;
const IDLE_MILLIS = 20_000;
const begun = performance.now();

function say(line: string): void {
  process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);
}

/** Returns the seconds of CPU that a process has used. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

test(`copies and switches ${COUNT} objects, and gives them back`, async () => {
  const cluster = new TestCluster({ apiservers: APISERVERS, groups: [GROUP] });
  const status = async () => {
    const answer = await cluster.http.get(`/apis/kubeannex.io/v1alpha1/adoptions/${GROUP}`);
    return objectAt(treeOf(answer), 'status') ?? {};
  };
  const until = async (phase: string): Promise<void> => {
    let shown = '';
    for (;;) {
      await pause(100);
      const now = await status();
      const line = `${stringAt(now, 'phase') ?? ''} ${stringAt(now, 'copied') ?? ''}`;
      if (line !== shown) say(line);
      shown = line;
      if (now['phase'] === phase) return;
      if (now['phase'] === 'Failed') throw new Error(JSON.stringify(now));
    }
  };
  try {
    await cluster.start(say);
    await available(cluster, 'kubeannex.io', 'v1alpha1');
    await cluster.kubectl.ok(['create', 'namespace', NAMESPACE]);
    await cluster.kubectl.ok(['create', '-f', '-'], { stdin: definitionText(GROUP, 'cluster') });
    for (const server of cluster.https)
      while ((await server.get(widgetsPath(NAMESPACE, '', GROUP))).status !== 200) await pause(100);
    let next = 0;
    const create = async (): Promise<void> => {
      for (let i = next++; i < COUNT; i = next++) {
        const free = { index: i, text: 'x'.repeat(800) };
        const body = widgetText(`w-${i}`, { colour: 'green', free }, {}, GROUP);
        const server = cluster.https[i % APISERVERS];
        const made = await server?.send({ method: 'POST', path: widgetsPath(NAMESPACE, '', GROUP), body });
        if (made?.status !== 201) throw new Error(made?.text);
      }
    };
    await Promise.all(Array.from({ length: CREATORS }, create));
    say(`${COUNT} objects`);
    const pid = cluster.apiserver.pid;
    // Waits for the work that follows so many creations.
    await pause(IDLE_MILLIS);
    const idle = cpuOf(pid);
    await pause(IDLE_MILLIS);
    const idleShare = Math.round((cpuOf(pid) - idle) * (100_000 / IDLE_MILLIS));
    const [cpu, at] = [cpuOf(pid), performance.now()];
    const adoption = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name: GROUP } };
    await cluster.kubectl.ok(['create', '-f', '-'], {
      stdin: JSON.stringify({ ...adoption, spec: { copyRate: RATE } }),
    });
    for (;;) {
      const [resource] = digList(await status(), 'resources');
      if (Number(objectAt({ resource: resource ?? null }, 'resource')?.['copied'] ?? 0) >= COUNT) break;
      await pause(ASK_MILLIS);
    }
    const seconds = (performance.now() - at) / 1000;
    const used = cpuOf(pid) - cpu;
    say(
      `copied in ${seconds.toFixed(1)} s: ${Math.round(COUNT / seconds)} objects/s, ${Math.round((100 * used) / seconds)} % of a core of kube-apiserver, of which it uses ${idleShare} % when nothing is copied`,
    );
    const [comparing, compared] = [cpuOf(pid), performance.now()];
    await until('InSync');
    const took = (performance.now() - compared) / 1000;
    say(
      `compared in ${took.toFixed(1)} s, ${Math.round((100 * (cpuOf(pid) - comparing)) / took)} % of a core of kube-apiserver`,
    );
    if (COPY_ONLY) return;
    let writer = 0;
    /** Moves the group under load. Reports how long no write was acknowledged, and the status of the Adoption. */
    const move = async (servedBy: string, isThere: () => Promise<string | undefined>): Promise<void> => {
      const writers = Array.from(
        { length: 4 },
        () => new SwitchWriter(cluster.https, GROUP, NAMESPACE, `busy-${writer++}`, { isPatient: true }),
      );
      const readers = cluster.https.map((server) => new SwitchReader(server, [widgetsPath(NAMESPACE, 'w-1', GROUP)]));
      const spec = { servedBy, dependents: 'Abandon' };
      await cluster.kubectl.ok(['patch', 'adoption', GROUP, '--type=merge', '-p', JSON.stringify({ spec })]);
      let said: string | undefined;
      while (said === undefined) {
        await pause(100);
        said = await isThere();
      }
      await pause(3_000);
      await Promise.all([...writers, ...readers].map((one) => one.stop()));
      say(said);
      const longest = Math.max(...writers.map((one) => one.longest));
      say(
        `no write was acknowledged for ${(longest / 1000).toFixed(1)} s at most; of ${readers.reduce((sum, { reads }) => sum + reads, 0)} reads failed ${readers.flatMap(({ problems }) => problems).length}; ${cpus().length} cores`,
      );
      expect(writers.flatMap(({ problems }) => problems)).toEqual([]);
      expect(readers.flatMap(({ problems }) => problems)).toEqual([]);
    };
    const conditionOf = async (type: string): Promise<string | undefined> => {
      const conditions = digList(await status(), 'conditions') as JsonObject[];
      const found = conditions.find((one) => one['type'] === type);
      return found?.['status'] === 'True' ? (stringAt(found, 'message') ?? '') : undefined;
    };
    await move('Annex', () => conditionOf('Switched'));
    let changed = 0;
    const change = async (): Promise<void> => {
      for (let i = changed++; i < COUNT / 10; i = changed++) {
        const body = JSON.stringify({ spec: { size: 'abcdefgh'.slice(0, 1 + (i % 8)) } });
        const headers = { 'content-type': 'application/merge-patch+json' };
        const path = widgetsPath(NAMESPACE, `w-${i}`, GROUP);
        const answer = await cluster.https[i % APISERVERS]?.send({ method: 'PATCH', path, body, headers });
        if (answer?.status !== 200) throw new Error(answer?.text);
      }
    };
    await Promise.all(Array.from({ length: CREATORS }, change));
    const [returning, began] = [cpuOf(pid), performance.now()];
    await move('Cluster', () => conditionOf('Returned'));
    const back = (performance.now() - began) / 1000;
    say(
      `${COUNT / 10} changed objects went back in ${back.toFixed(1)} s, ${Math.round((100 * (cpuOf(pid) - returning)) / back)} % of a core of kube-apiserver; ${JSON.stringify((await status())['return'])}`,
    );
    const kept = treeOf(await cluster.http.get(`${widgetsPath(NAMESPACE, '', GROUP)}?limit=1`));
    expect(Number(objectAt(kept, 'metadata')?.['remainingItemCount']) + 1).toBeGreaterThanOrEqual(COUNT);
  } finally {
    await cluster.stop();
  }
});
