import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, objectAt, stringAt } from '../../../src/apimachinery/json/json.js';
import { dig, digList, digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { Guide, shellBlocks } from '../../docs/guides.js';
import { withClient } from '../../storage/mongod.js';
import { ADOPTED_GROUP, run, TOOLS, type Replica, type TestCluster } from '../cluster.js';
import { available, condition, definitionText, widgetsPath, widgetText } from '../widgets.js';

const COUNT = 250;
const NAMESPACES = ['adopted-a', 'adopted-b'];
const APPLY = { 'content-type': 'application/apply-patch+yaml' };
const MERGE = { 'content-type': 'application/merge-patch+json' };

const pathOf = (namespace: string, name = ''): string => widgetsPath(namespace, name, ADOPTED_GROUP);

const adoptionText = (name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name }, spec });

/** Creates, changes, and deletes objects until stopped. Returns the number of acknowledged writes. */
class Writer {
  private stopped = false;
  private readonly done: Promise<number>;

  constructor(
    private readonly cluster: TestCluster,
    private readonly namespace: string,
    private readonly name: string,
  ) {
    this.done = this.write();
  }

  stop(): Promise<number> {
    this.stopped = true;
    return this.done;
  }

  private async write(): Promise<number> {
    const { http } = this.cluster;
    let acknowledged = 0;
    const count = (status: number): void => {
      if (status < 300) acknowledged++;
    };
    for (let i = 0; !this.stopped; i++) {
      const path = pathOf(this.namespace, `${this.name}-${i % 20}`);
      const object = widgetText(
        `${this.name}-${i % 20}`,
        { colour: 'red', size: 'x'.repeat((i % 7) + 1) },
        {},
        ADOPTED_GROUP,
      );
      count(
        (
          await http.send({
            method: 'PATCH',
            path: `${path}?fieldManager=w${i % 3}&force=true`,
            body: object,
            headers: APPLY,
          })
        ).status,
      );
      count(
        (
          await http.send({
            method: 'PATCH',
            path: `${path}/status`,
            body: { status: { replicas: i } },
            headers: MERGE,
          })
        ).status,
      );
      if (i % 3 === 0) count((await http.send({ method: 'DELETE', path })).status);
    }
    return acknowledged;
  }
}

/** Returns the objects of the cluster, by key. */
async function inCluster({ http }: TestCluster): Promise<Map<string, JsonObject>> {
  const list = treeOf(await http.get(`/apis/${ADOPTED_GROUP}/v1/widgets`));
  return byKey(digList(list, 'items') as JsonObject[]);
}

/** Returns the objects of the copy, from MongoDB. */
function inCopy({ mongodb }: TestCluster): Promise<Map<string, JsonObject>> {
  return withClient(mongodb.uri, async (client) => {
    const db = client.db('annex');
    const all = await db.listCollections({}, { nameOnly: true }).toArray();
    const objects: JsonObject[] = [];
    for (const { name } of all.filter((one) => one.name.startsWith('~copy.'))) {
      const documents = await db.collection<{ _annex: { bytes: { buffer: Uint8Array } } }>(name).find().toArray();
      for (const { _annex } of documents) {
        const text = Buffer.from(_annex.bytes.buffer).subarray(2).toString('utf8');
        objects.push(JSON.parse(text) as JsonObject);
      }
    }
    return byKey(objects);
  });
}

function byKey(objects: readonly JsonObject[]): Map<string, JsonObject> {
  const keyOf = (object: JsonObject): string =>
    `${stringAt(objectAt(object, 'metadata'), 'namespace') ?? ''}/${stringAt(objectAt(object, 'metadata'), 'name') ?? ''}`;
  return new Map(objects.map((object) => [keyOf(object), object]));
}

async function adoptionStatus({ http }: TestCluster): Promise<JsonObject> {
  const answer = await http.get(`/apis/kubeannex.io/v1alpha1/adoptions/${ADOPTED_GROUP}`);
  return objectAt(treeOf(answer), 'status') ?? {};
}

/** Checks that the copy equals the cluster's objects once writes have stopped. */
async function copyIsEqual(cluster: TestCluster): Promise<number> {
  const theirs = await inCluster(cluster);
  await eventually('the copy is equal', async () => {
    const ours = await inCopy(cluster);
    if (ours.size !== theirs.size) return undefined;
    for (const [key, object] of theirs) {
      const copy = ours.get(key);
      if (dig(copy, 'metadata', 'resourceVersion') !== dig(object, 'metadata', 'resourceVersion')) return undefined;
    }
    return true;
  });
  const ours = await inCopy(cluster);
  for (const [key, object] of theirs) expect([key, ours.get(key)]).toEqual([key, object]);
  return theirs.size;
}

/** Rehearsals of adoptions: Annex copies, follows, and compares a group of the cluster, even if a replica is killed. */
export function adoption(cluster: TestCluster): void {
  describe('adoption', () => {
    const inSync = (): Promise<unknown> =>
      condition(cluster, `adoption/${ADOPTED_GROUP}`, 'InSync', ({ status }) => status === 'True');

    test('a group of the cluster has objects', async () => {
      const { http, kubectl } = cluster;
      await available(cluster, 'kubeannex.io', 'v1alpha1');
      await kubectl.ok(['create', '-f', '-'], { stdin: definitionText(ADOPTED_GROUP, 'cluster', ['v1', 'v1beta1']) });
      await kubectl.ok(['wait', `crd/widgets.${ADOPTED_GROUP}`, '--for=condition=Established', '--timeout=60s']);
      for (const namespace of NAMESPACES) await kubectl.ok(['create', 'namespace', namespace]);
      await eventually('widgets are served', async () =>
        (await http.get(pathOf(NAMESPACES[0] ?? ''))).status === 200 ? true : undefined,
      );
      for (let i = 0; i < COUNT; i++) {
        const namespace = NAMESPACES[i % 2] ?? '';
        const free = {
          'a.b/$c': i,
          long: 'x'.repeat(i * 40),
          number: 9007199254740993n.toString(),
          list: [1, 2.5, null, '\u2028'],
        };
        const metadata = i % 10 === 0 ? { finalizers: ['example.com/hold'], labels: { 'example.com/odd': 'yes' } } : {};
        const text = widgetText(`w.${i}-x`, { colour: 'green', free }, metadata, ADOPTED_GROUP);
        expect((await http.send({ method: 'POST', path: pathOf(namespace), body: text })).status).toBe(201);
      }
    });

    test('an adoption of a group that cannot be adopted is refused', async () => {
      const { kubectl } = cluster;
      for (const [name, spec, why] of [
        ['apps', {}, /the name must be an API group/],
        ['rbac.authorization.k8s.io', {}, /the name must be an API group/],
        ['kubeannex.io', {}, /the name must be an API group/],
        [ADOPTED_GROUP, { servedBy: 'Nobody' }, /Unsupported value/],
      ] as const) {
        const { code, stderr } = await kubectl.run(['create', '-f', '-'], { stdin: adoptionText(name, spec) });
        expect([code, stderr]).toEqual([1, expect.stringMatching(why) as string]);
      }
    });

    test('copies everything during writes, and reports when both sides are equal', async () => {
      const { kubectl } = cluster;
      const writers = NAMESPACES.map((namespace, i) => new Writer(cluster, namespace, `busy-${i}`));
      await kubectl.ok(['create', '-f', '-'], { stdin: adoptionText(ADOPTED_GROUP, { copyRate: 500 }) });
      await inSync();
      const written = await Promise.all(writers.map((writer) => writer.stop()));
      expect(Math.min(...written)).toBeGreaterThan(10);
      const size = await copyIsEqual(cluster);
      expect(size).toBeGreaterThanOrEqual(COUNT);
      const table = await eventually('the table tells all', async () => {
        const text = await kubectl.ok(['get', 'adoptions']);
        return text.includes(`${size}/${size}`) ? text : undefined;
      });
      expect(table.split('\n')[0]).toMatch(/^NAME +SERVED BY +PHASE +COPIED +LAG +AGE$/);
      expect(table.split('\n')[1]).toMatch(/^adopted\.example\.com +Cluster +InSync +\d+\/\d+ +0s +/);
      const [resource] = digList(await adoptionStatus(cluster), 'resources');
      expect(resource).toMatchObject({
        resource: 'widgets',
        source: size,
        copied: size,
        lagSeconds: 0,
        differences: 0,
      });
      expect(await kubectl.ok(['explain', 'adoption.spec.copyRate'])).toContain('The maximum number of objects');
    });

    test('clients cannot read the copy', async () => {
      const path = pathOf(NAMESPACES[0] ?? '');
      expect((await cluster.direct(0).get(path)).status).toBe(404);
      expect(digText(treeOf(await cluster.http.get(path)), 'kind')).toBe('WidgetList');
    });

    test('the other replica continues when the copying one is killed', async () => {
      const before = digText(await adoptionStatus(cluster), 'leader');
      const { kubectl } = cluster;
      const writer = new Writer(cluster, NAMESPACES[0] ?? '', 'late');
      await kubectl.ok(['-n', NAMESPACES[1] ?? '', 'delete', `widgets.${ADOPTED_GROUP}`, 'w.1-x', 'w.3-x']);
      // The test does not know which replica leads, so it kills them one after the other.
      const killed: Replica[] = [];
      for (const replica of cluster.replicas) {
        await replica.daemon.stop('SIGKILL');
        killed.push(replica);
        replica.daemon.start();
        await cluster.replicasReady(2);
      }
      expect(killed).toHaveLength(2);
      await eventually('another replica leads', async () => {
        const { leader } = await adoptionStatus(cluster);
        return leader !== undefined && leader !== before ? true : undefined;
      });
      await writer.stop();
      await inSync();
      await copyIsEqual(cluster);
    });

    test('the doctor reports the state of the adoption', async () => {
      const { args } = cluster.replica(0).daemon;
      const out = await run(process.execPath, [args[0] ?? '', 'doctor', ...args.slice(2)]);
      expect(out).toMatch(/^adoptions: ok \(adopted\.example\.com InSync \d+\/\d+\)$/m);
    });

    test('deleting the Adoption removes the copy, and nothing else', async () => {
      const { kubectl } = cluster;
      const before = (await inCluster(cluster)).size;
      await kubectl.ok(['delete', 'adoption', ADOPTED_GROUP, '--timeout=60s']);
      expect((await inCopy(cluster)).size).toBe(0);
      expect((await inCluster(cluster)).size).toBe(before);
    });

    const guide = (): Guide => {
      const names = { GROUP: ADOPTED_GROUP, KUBECONFIG: cluster.adminConfig };
      const folder = mkdtempSync(join(cluster.folder, 'guide-'));
      return new Guide(folder, { kubectl: `"${join(TOOLS, 'kubectl')}"` }, names);
    };
    const blocks = shellBlocks('adopting-a-crd.md').map(({ text }) => text);

    test('the commands of the guide work, up to the switch to Annex', async () => {
      const before = await inCluster(cluster);
      const [plan = '', rehearsal = '', close = '', switched = '', kept = ''] = await inOrder(
        guide(),
        blocks.slice(0, -1),
      );
      expect(plan).toMatch(/^widgets +Namespaced +v1\*,v1beta1 +None +\d+ /m);
      expect(plan).not.toContain('Permissions that');
      expect(rehearsal).toMatch(/^widgets: \d+ objects, \d+ bytes, equal on both sides \(digest [0-9a-f]{16}\)$/m);
      expect(rehearsal).toMatch(/^adopted\.example\.com +Cluster +InSync/m);
      expect(close).toMatch(/^Accepted: True \(Annex can serve the definitions of the group\)$/m);
      expect(close).toMatch(/^Switchable: True \(nothing prevents switching the group to Annex\)$/m);
      expect(switched).toMatch(/^Annex serves the group; writes were refused for \d+\.\d s \(the fence .*\)$/m);
      expect(switched).toMatch(/^adopted\.example\.com +Annex +Served/m);
      expect(switched).toMatch(/^v1\.adopted\.example\.com +annex$/m);
      expect(kept).toMatch(/^widgets\.adopted\.example\.com +adopted\.example\.com$/m);
      expect((await inCopy(cluster)).size).toBe(0);
      for (const [key, object] of await inCluster(cluster)) expect([key, object]).toEqual([key, before.get(key)]);
    });

    test('a group that Annex serves accepts writes, and the plan of the way back is reported', async () => {
      const path = pathOf(NAMESPACES[0] ?? '', 'after');
      const text = widgetText('after', { colour: 'red' }, {}, ADOPTED_GROUP);
      const made = await cluster.http.send({ method: 'POST', path: pathOf(NAMESPACES[0] ?? ''), body: text });
      expect(made.status).toBe(201);
      expect((await cluster.direct(1).get(path)).status).toBe(200);
      const main = cluster.replica(0).daemon.args[0] ?? '';
      const child = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'of-after', ownerReferences: [ownerReference(treeOf(made))] },
      };
      const namespace = ['-n', NAMESPACES[0] ?? ''];
      await cluster.kubectl.ok([...namespace, 'create', '-f', '-'], { stdin: JSON.stringify(child) });
      const dryRun = [main, 'release', ADOPTED_GROUP, '--dry-run', '--kubeconfig', cluster.adminConfig];
      await expect(run(process.execPath, dryRun)).rejects.toThrow(
        `The objects created in Annex own 1 objects outside the group, which would be deleted:\n  - configmaps ${NAMESPACES[0] ?? ''}/of-after`,
      );
      await cluster.kubectl.ok([...namespace, 'delete', 'configmap', 'of-after']);
      const plan = await run(process.execPath, dryRun);
      expect(plan).toMatch(/^Annex has \d+ objects of adopted\.example\.com; 1 were created there/m);
      expect(plan).toMatch(/^The objects created in Annex own no objects outside the group\.$/m);
    });

    test('helm refuses to uninstall while Annex serves the group', async () => {
      const manifest = await cluster.helm('get', 'hooks', 'annex', '--namespace', 'annex-system');
      expect(manifest).toMatch(/helm.sh\/hook: pre-delete[^]*args: \[uninstall-check\]/);
      // Runs the command of the pod under its service account.
      const { args } = cluster.replica(0).daemon;
      const config = args.find((arg) => arg.startsWith('--kubeconfig=')) ?? '';
      await expect(run(process.execPath, [args[0] ?? '', 'uninstall-check', config])).rejects.toThrow(
        `Annex serves ${ADOPTED_GROUP}, moved here from the cluster`,
      );
    });

    test('the cluster serves the group again, with the changes made in Annex', async () => {
      const [out = ''] = await inOrder(guide(), blocks.slice(-1));
      expect(out).toMatch(/^the cluster serves the group again; writes were refused for \d+\.\d s/m);
      expect(out).toMatch(/^Done\.$/m);
      const [namespace = ''] = NAMESPACES;
      expect((await cluster.http.get(pathOf(namespace, 'after'))).status).toBe(200);
      const { kubectl } = cluster;
      for (const gone of [`adoption/${ADOPTED_GROUP}`, `resourcedefinition/widgets.${ADOPTED_GROUP}`])
        expect((await kubectl.run(['get', gone])).code).toBe(1);
      const text = widgetText('again', { colour: 'red' }, {}, ADOPTED_GROUP);
      await eventually('the cluster takes writes', async () => {
        const made = await cluster.http.send({ method: 'POST', path: pathOf(namespace), body: text });
        return made.status === 201 ? true : undefined;
      });
      expect((await inCluster(cluster)).has(`${namespace}/again`)).toBe(true);
    });
  });
}

async function inOrder(guide: Guide, blocks: readonly string[]): Promise<string[]> {
  const printed: string[] = [];
  for (const block of blocks) printed.push(await guide.run(block));
  return printed;
}

const ownerReference = (owner: JsonObject): object => ({
  apiVersion: `${ADOPTED_GROUP}/v1`,
  kind: 'Widget',
  name: digText(owner, 'metadata', 'name'),
  uid: digText(owner, 'metadata', 'uid'),
});
