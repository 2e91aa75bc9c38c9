import { type JsonObject, objectAt, stringAt } from '../../../src/apimachinery/json/json.js';
import { digList, digText, treeOf } from '../../integration/client.js';
import { MOVING } from '../../../src/adoption/protocol/states.js';
import { eventually } from '../../integration/server.js';
import { run } from '../cluster.js';
import { denyUpdates } from './deny-updates.js';
import { Informer, informerMissing } from '../informer.js';
import { SwitchReader, SwitchWriter } from './writers.js';
import { available, type Condition, condition, definitionText, widgetsPath, widgetText } from '../widgets.js';
import { describeOnCluster, say } from '../suite.js';

const GROUP = 'moved.example.com';
const KILLED = 'killed.example.com';
const MEDDLED = 'meddled.example.com';
const GIVEN_UP = 'given-up.example.com';
const TIMED = 'timed.example.com';
const GROUPS = [GROUP, KILLED, MEDDLED, GIVEN_UP, TIMED];
const NAMESPACE = 'moved';
const COUNT = 150;
/** While Annex followed the cluster, changed objects had Annex revisions there (docs/design/adoption.md, what is not watched). */
const WENT_BACK = /went back/;

const OPTIONS = { apiservers: 2 as const, groups: GROUPS };

describeOnCluster('a group moves from the cluster into Annex', OPTIONS, (cluster) => {
  const before = new Map<string, JsonObject>();

  const adopt = (group: string, servedBy: string): Promise<unknown> =>
    cluster.kubectl.ok(['patch', 'adoption', group, '--type=merge', '-p', JSON.stringify({ spec: { servedBy } })]);

  const all = async (group: string, server = cluster.http): Promise<Map<string, JsonObject>> => {
    const items = digList(treeOf(await server.get(`/apis/${group}/v1/widgets`)), 'items') as JsonObject[];
    return new Map(
      items.map((one) => [`${digText(one, 'metadata', 'namespace')}/${digText(one, 'metadata', 'name')}`, one]),
    );
  };

  const phase = async (group: string): Promise<string> => {
    const answer = await cluster.http.get(`/apis/kubeannex.io/v1alpha1/adoptions/${group}`);
    return stringAt(objectAt(treeOf(answer), 'status'), 'phase') ?? '';
  };

  /** Logs the conditions of an Adoption as they change. */
  const reportPhases = async (group: string, signal: AbortSignal): Promise<void> => {
    for (let reported = ''; !signal.aborted;) {
      const answer = await cluster.http.get(`/apis/kubeannex.io/v1alpha1/adoptions/${group}`);
      const status = objectAt(treeOf(answer), 'status');
      const ready = digList(treeOf(answer), 'status', 'conditions').find((one) => digText(one, 'type') === 'Ready');
      const now = `${stringAt(status, 'phase') ?? ''}: ${digText(ready, 'message')}`;
      if (now !== reported) say(now);
      reported = now;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };

  // Each writer has its own objects, which no other writer ever writes, not even an earlier one.
  let made = 0;
  const writers = (group: string, count: number): SwitchWriter[] =>
    Array.from({ length: count }, () => new SwitchWriter(cluster.https, group, NAMESPACE, `busy-${made++}`));

  /** Waits until each writer has made another write. */
  const writeAgain = async (busy: readonly SwitchWriter[]): Promise<void> => {
    const counts = busy.map(({ acknowledged }) => acknowledged);
    await eventually('all write again', () =>
      Promise.resolve(busy.every(({ acknowledged }, i) => acknowledged > (counts[i] ?? 0) + 10) || undefined),
    );
  };

  /** Returns the condition Switched when the switch has succeeded or failed. */
  const outcomeOf = (group: string): Promise<Condition> =>
    condition(
      cluster,
      `adoption/${group}`,
      'Switched',
      ({ status, reason }) => status === 'True' || reason === 'Failed',
    );

  /** Returns names and revisions, in the form of an informer's keys. */
  const namesOf = (objects: ReadonlyMap<string, JsonObject>): string[] =>
    [...objects.values()].map(
      (one) => `${digText(one, 'metadata', 'name')}@${digText(one, 'metadata', 'resourceVersion')}`,
    );

  const settle = async (group: string, all_: readonly SwitchWriter[], known?: RegExp): Promise<void> => {
    await Promise.all(all_.map((writer) => writer.stop()));
    for (const server of cluster.https) {
      const shown = await all(group, server);
      for (const writer of all_) writer.check(shown);
    }
    const problems = all_.flatMap((writer) => writer.problems);
    expect(problems.filter((problem) => known?.test(problem) !== true)).toEqual([]);
    for (const writer of all_) expect(writer.acknowledged).toBeGreaterThan(20);
    say(
      `acknowledged ${all_.reduce((sum, { acknowledged }) => sum + acknowledged, 0)}, refused ${all_.reduce((sum, { refused }) => sum + refused, 0)}, longest without ${all_.map(({ longest }) => Math.round(longest)).join()} ms`,
    );
  };

  test('the groups have objects and are rehearsed', async () => {
    const { http, kubectl } = cluster;
    await available(cluster, 'kubeannex.io', 'v1alpha1');
    await kubectl.ok(['create', 'namespace', NAMESPACE]);
    for (const group of GROUPS) {
      await kubectl.ok(['create', '-f', '-'], { stdin: definitionText(group, 'cluster', ['v1', 'v1beta1']) });
      for (const server of cluster.https) {
        await eventually('widgets are served', async () =>
          (await server.get(widgetsPath(NAMESPACE, '', group))).status === 200 ? true : undefined,
        );
      }
    }
    const owner = treeOf({
      text: await kubectl.ok(['-n', NAMESPACE, 'create', 'configmap', 'owner', '-o', 'json']),
    });
    const owned = (object: JsonObject, apiVersion: string, kind: string): object => ({
      ownerReferences: [
        { apiVersion, kind, name: digText(object, 'metadata', 'name'), uid: digText(object, 'metadata', 'uid') },
      ],
    });
    for (let i = 0; i < COUNT; i++) {
      const spec = { colour: 'green', free: { 'a.b/$c': i, large: 'x'.repeat(i === 1 ? 900_000 : 100) } };
      const metadata =
        i % 10 === 0 ? { finalizers: ['example.com/hold'] } : i === 3 ? owned(owner, 'v1', 'ConfigMap') : {};
      const made = await http.send({
        method: 'POST',
        path: widgetsPath(NAMESPACE, '', GROUP),
        body: widgetText(`w.${i}-x`, spec, metadata, GROUP),
      });
      expect(made.status).toBe(201);
    }
    const parent = treeOf(await http.get(widgetsPath(NAMESPACE, 'w.5-x', GROUP)));
    const child = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'child', ...owned(parent, `${GROUP}/v1`, 'Widget') },
    };
    await kubectl.ok(['-n', NAMESPACE, 'create', '-f', '-'], { stdin: JSON.stringify(child) });
    // One object is being deleted and waits for its finalizer.
    await http.send({ method: 'DELETE', path: widgetsPath(NAMESPACE, 'w.10-x', GROUP) });
    // The machine of the tests may be slow.
    const spec = { maxWriteRefusalSeconds: 120 };
    for (const group of GROUPS) {
      const adoption = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name: group }, spec };
      await kubectl.ok(['create', '-f', '-'], { stdin: JSON.stringify(adoption) });
    }
    for (const group of GROUPS)
      await condition(cluster, `adoption/${group}`, 'InSync', ({ status }) => status === 'True');
    for (const [key, object] of await all(GROUP)) before.set(key, object);
    expect(before.size).toBe(COUNT);
  });

  test('switches during writes, reads, and watches', async () => {
    const page = treeOf(await cluster.http.get(`/apis/${GROUP}/v1/widgets?limit=10`));
    const informers = informerMissing
      ? []
      : [false, true].map((streaming) => new Informer(cluster.adminConfig, NAMESPACE, streaming, GROUP));
    const busy = writers(GROUP, 4);
    const paths = [`/apis/${GROUP}/v1/namespaces/${NAMESPACE}/widgets?limit=5`, widgetsPath(NAMESPACE, 'w.2-x', GROUP)];
    const readers = cluster.https.map((server) => new SwitchReader(server, paths));
    await adopt(GROUP, 'Annex');
    const switched = await outcomeOf(GROUP);
    say(switched.message);
    if (switched.reason !== 'Served') say(cluster.logs());
    expect(switched).toMatchObject({ status: 'True', reason: 'Served' });
    await writeAgain(busy);
    for (const reader of readers) await reader.stop();
    await settle(GROUP, busy);
    expect(readers.flatMap(({ problems }) => problems)).toEqual([]);
    const token = encodeURIComponent(digText(page, 'metadata', 'continue'));
    expect((await cluster.http.get(`/apis/${GROUP}/v1/widgets?limit=10&continue=${token}`)).status).toBe(410);
    const last = { method: 'POST', path: widgetsPath(NAMESPACE, '', GROUP) };
    const made = await cluster.http.send({ ...last, body: widgetText('zz-last', { colour: 'red' }, {}, GROUP) });
    expect(made.status).toBe(201);
    const now = await all(GROUP);
    for (const [key, object] of before) expect([key, now.get(key)]).toEqual([key, object]);
    const held = namesOf(now);
    for (const informer of informers) {
      await informer.sees('add', 'zz-last');
      expect((await informer.end()).keys.sort()).toEqual(held.sort());
    }
  });

  test("after the switch, the cluster's copy is read-only, and owners and dependents are unchanged", async () => {
    const { http, kubectl } = cluster;
    const crd = treeOf({ text: await kubectl.ok(['get', 'crd', `widgets.${GROUP}`, '-o', 'json']) });
    expect(digList(crd, 'spec', 'versions').map((version) => objectAt({ version }, 'version')?.['served'])).toEqual([
      false,
      false,
    ]);
    await kubectl.ok(['-n', NAMESPACE, 'get', 'configmap', 'child']);
    const freed = await http.send({
      method: 'PATCH',
      path: widgetsPath(NAMESPACE, 'w.10-x', GROUP),
      body: JSON.stringify({ metadata: { finalizers: null } }),
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    expect(freed.status).toBe(200);
    expect((await http.get(widgetsPath(NAMESPACE, 'w.10-x', GROUP))).status).toBe(404);
    await http.send({ method: 'DELETE', path: widgetsPath(NAMESPACE, 'w.5-x', GROUP) });
    await eventually('the dependent of a deleted object goes', async () =>
      (await kubectl.run(['-n', NAMESPACE, 'get', 'configmap', 'child'])).code === 0 ? undefined : true,
    );
    await kubectl.ok(['-n', NAMESPACE, 'delete', 'configmap', 'owner']);
    await eventually('the object of a deleted owner goes', async () =>
      (await http.get(widgetsPath(NAMESPACE, 'w.3-x', GROUP))).status === 404 ? true : undefined,
    );
  });

  test('deleted APIServices and policies are restored', async () => {
    const { kubectl } = cluster;
    await kubectl.ok(['delete', 'apiservice', `v1.${GROUP}`]);
    await kubectl.ok(['delete', 'validatingadmissionpolicybinding', `annex-adoption.${GROUP}`]);
    await eventually('the route and the fence are back', async () => {
      const service = await kubectl.run(['get', 'apiservice', `v1.${GROUP}`, '-o', 'jsonpath={.spec.service.name}']);
      const binding = await kubectl.run(['get', 'validatingadmissionpolicybinding', `annex-adoption.${GROUP}`]);
      return service.stdout === 'annex' && binding.code === 0 ? true : undefined;
    });
    expect((await all(GROUP)).size).toBeGreaterThan(COUNT - 10);
  });

  /** Grants Annex the permissions that `annex release` reports as missing for repointing dependents. */
  const allowRepointing = async (): Promise<void> => {
    const main = cluster.replica(0).daemon.args[0] ?? '';
    const args = ['--dry-run', '--dependents', 'Repoint', '--kubeconfig', cluster.adminConfig];
    const said = await run(process.execPath, [main, 'release', GROUP, ...args]).catch(String);
    const role = /\{\n[^]*?\n\}\n/.exec(said)?.[0] ?? '';
    expect(said).toContain('It lacks the permissions of this ClusterRole');
    await cluster.kubectl.ok(['create', '-f', '-'], { stdin: role });
    const name = digText(treeOf({ text: role }), 'metadata', 'name');
    const account = '--serviceaccount=annex-system:annex';
    await cluster.kubectl.ok(['create', 'clusterrolebinding', name, `--clusterrole=${name}`, account]);
    expect(await run(process.execPath, [main, 'release', GROUP, ...args])).not.toContain('Blocked');
  };

  /** Checks that Annex ends its watches with 410 when the group leaves, and answers new watches the same way. */
  const watchUntilGone = async (revision: string): Promise<void> => {
    const path = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/widgets?watch=true&resourceVersion=${revision}`;
    const [server] = cluster.https;
    const long = await server?.get(`${path}&timeoutSeconds=600`);
    expect(long?.text).toContain('too old resource version: 0 (0)');
    const next = await server?.get(`${path}&timeoutSeconds=1`);
    expect(next?.text).toMatch(/"code":410/);
  };

  test('goes back during writes, reads, and watches', async () => {
    const { http, kubectl } = cluster;
    const owner = treeOf(await http.get(widgetsPath(NAMESPACE, 'zz-last', GROUP)));
    // Objects created in Annex: one with an owner, one that is being deleted, one that was recreated.
    const create = async (name: string, metadata: object = {}): Promise<JsonObject> => {
      const body = widgetText(name, { colour: 'red' }, metadata, GROUP);
      const answer = await http.send({ method: 'POST', path: widgetsPath(NAMESPACE, '', GROUP), body });
      expect(answer.status).toBe(201);
      return treeOf(answer);
    };
    const uid = digText(owner, 'metadata', 'uid');
    const reference = { apiVersion: `${GROUP}/v1`, kind: 'Widget', name: 'zz-last', uid };
    await create('zz-child', { ownerReferences: [reference] });
    await create('zz-going', { finalizers: ['example.com/hold'] });
    await http.send({ method: 'DELETE', path: widgetsPath(NAMESPACE, 'zz-going', GROUP) });
    await http.send({ method: 'DELETE', path: widgetsPath(NAMESPACE, 'w.6-x', GROUP) });
    await create('w.6-x');
    await http.send({ method: 'DELETE', path: widgetsPath(NAMESPACE, 'w.7-x', GROUP) });
    const child = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'of-born', ownerReferences: [reference] },
    };
    await kubectl.ok(['-n', NAMESPACE, 'create', '-f', '-'], { stdin: JSON.stringify(child) });
    const served = await all(GROUP);
    const page = treeOf(await http.get(`/apis/${GROUP}/v1/widgets?limit=10`));
    const watched = watchUntilGone(digText(page, 'metadata', 'resourceVersion'));
    const informers = informerMissing
      ? []
      : [false, true].map((streaming) => new Informer(cluster.adminConfig, NAMESPACE, streaming, GROUP));
    const busy = writers(GROUP, 4);
    const paths = [`/apis/${GROUP}/v1/namespaces/${NAMESPACE}/widgets?limit=5`, widgetsPath(NAMESPACE, 'w.2-x', GROUP)];
    const readers = cluster.https.map((server) => new SwitchReader(server, paths));
    await adopt(GROUP, 'Cluster');
    const refused = await condition(cluster, `adoption/${GROUP}`, 'Returned', ({ reason }) => reason === 'Refused');
    expect(refused.message).toContain('objects there that are owned by objects created in Annex would be deleted');
    expect(await phase(GROUP)).toBe('Served');
    await allowRepointing();
    const spec = { servedBy: 'Cluster', dependents: 'Refuse', copyRate: 999 };
    await kubectl.ok(['patch', 'adoption', GROUP, '--type=merge', '-p', JSON.stringify({ spec })]);
    const outside = await condition(
      cluster,
      `adoption/${GROUP}`,
      'DependentsOutside',
      ({ status }) => status === 'True',
    );
    expect(outside.message).toContain(`1 objects outside the group are owned by objects that were created in Annex`);
    expect(outside.message).toContain(`configmaps ${NAMESPACE}/of-born`);
    const repoint = JSON.stringify({ spec: { dependents: 'Repoint' } });
    await kubectl.ok(['patch', 'adoption', GROUP, '--type=merge', '-p', repoint]);
    const over = new AbortController();
    void reportPhases(GROUP, over.signal);
    const route = `/apis/apiregistration.k8s.io/v1/apiservices/v1.${GROUP}`;
    // Each kube-apiserver learns of the policy on its own.
    for (const server of cluster.https)
      await eventually('nobody else may remove the route', async () => {
        const { status, text } = await server.send({ method: 'DELETE', path: `${route}?dryRun=All` });
        return status === 403 && text.includes('only Annex changes its APIServices until then') ? true : undefined;
      });
    expect((await http.send({ method: 'DELETE', path: route })).status).toBe(403);
    const returned = await condition(cluster, `adoption/${GROUP}`, 'Returned', ({ status }) => status === 'True').catch(
      (error: unknown) => {
        say(cluster.logs());
        throw error;
      },
    );
    over.abort();
    say(returned.message);
    await watched;
    // Continue tokens of Annex get 410 here only after etcd is compacted, five minutes after its start.
    const late = await http.send({
      method: 'PUT',
      path: widgetsPath(NAMESPACE, 'zz-last', GROUP),
      body: JSON.stringify(owner),
    });
    expect(late.status).toBe(409);
    await writeAgain(busy);
    for (const reader of readers) await reader.stop();
    await settle(GROUP, busy);
    expect(readers.flatMap(({ problems }) => problems)).toEqual([]);
    const now = await all(GROUP);
    const ofSwitch = (name: string): boolean => !name.includes('/busy-');
    expect([...now.keys()].filter(ofSwitch).sort()).toEqual([...served.keys()].filter(ofSwitch).sort());
    for (const [key, object] of before) {
      if (!now.has(key) || key.endsWith('/w.6-x')) continue;
      const { resourceVersion: _, ...metadata } = objectAt(object, 'metadata') ?? {};
      expect(now.get(key)).toEqual({ ...object, metadata: expect.objectContaining(metadata) as JsonObject });
    }
    for (const [key, object] of served) {
      const there = now.get(key);
      if (!ofSwitch(key) || there === undefined) continue;
      expect([key, there['spec'], there['status']]).toEqual([key, object['spec'], object['status']]);
      expect([key, objectAt(there, 'metadata')?.['managedFields']]).toEqual([
        key,
        objectAt(object, 'metadata')?.['managedFields'],
      ]);
    }
    const shown = (name: string): JsonObject => objectAt(now.get(`${NAMESPACE}/${name}`), 'metadata') ?? {};
    expect(shown('zz-child')['ownerReferences']).toEqual([{ ...reference, uid: shown('zz-last')['uid'] }]);
    expect(shown('zz-last')['uid']).not.toBe(uid);
    const dependent = treeOf({
      text: await kubectl.ok(['-n', NAMESPACE, 'get', 'configmap', 'of-born', '-o', 'json']),
    });
    expect(objectAt(dependent, 'metadata')?.['ownerReferences']).toEqual([
      { ...reference, uid: shown('zz-last')['uid'] },
    ]);
    const status = objectAt(treeOf(await http.get(`/apis/kubeannex.io/v1alpha1/adoptions/${GROUP}`)), 'status');
    expect(objectAt(status, 'return')).toMatchObject({ left: 0, refused: 0 });
    say(JSON.stringify(objectAt(status, 'return')));
    expect(shown('zz-going')['deletionTimestamp']).toBeDefined();
    expect(shown('zz-going')['finalizers']).toEqual(['example.com/hold']);
    const crd = treeOf({ text: await kubectl.ok(['get', 'crd', `widgets.${GROUP}`, '-o', 'json']) });
    expect(digList(crd, 'spec', 'versions').map((version) => objectAt({ version }, 'version')?.['served'])).toEqual([
      true,
      true,
    ]);
    for (const plural of ['validatingadmissionpolicy', 'validatingadmissionpolicybinding'])
      expect((await kubectl.run(['get', plural, `annex-adoption.${GROUP}`])).code).toBe(1);
    const service = await kubectl.ok(['get', 'apiservice', `v1.${GROUP}`, '-o', 'jsonpath={.spec.service}']);
    expect(service).toBe('');
    expect((await kubectl.run(['get', 'resourcedefinition', `widgets.${GROUP}`])).code).toBe(1);
    const last = widgetText('zz-returned', { colour: 'red' }, {}, GROUP);
    await eventually('the fence is gone', async () => {
      const answer = await http.send({ method: 'POST', path: widgetsPath(NAMESPACE, '', GROUP), body: last });
      return answer.status === 201 ? true : undefined;
    });
    const held = namesOf(await all(GROUP));
    for (const informer of informers) {
      await informer.sees('add', 'zz-returned');
      expect((await informer.end()).keys.sort()).toEqual(held.sort());
    }
  });

  test('switches to Annex again', async () => {
    await condition(cluster, `adoption/${GROUP}`, 'InSync', ({ status }) => status === 'True');
    const busy = writers(GROUP, 2);
    await adopt(GROUP, 'Annex');
    await condition(cluster, `adoption/${GROUP}`, 'Switched', ({ status }) => status === 'True');
    await writeAgain(busy);
    await settle(GROUP, busy);
  });

  test('replicas are killed in every phase, and another one continues', async () => {
    const busy = writers(KILLED, 3);
    await adopt(KILLED, 'Annex');
    const killed: string[] = [];
    let seen = '';
    const look = async (): Promise<true | undefined> => {
      const now = await phase(KILLED).catch(() => seen);
      if (now !== seen) say(now);
      seen = now;
      if (MOVING.has(now) && !killed.includes(now)) {
        killed.push(now);
        // The test does not know which replica leads, so it kills both in turn.
        for (const { daemon } of cluster.replicas) {
          await daemon.stop('SIGKILL');
          daemon.start();
          await cluster.replicasReady(2);
        }
      }
      return now === 'Served' || now === 'Failed' ? true : undefined;
    };
    // While nobody led, the cluster may have written more than expected: then the switch is given up, and tried again.
    await eventually('the group is served', look).catch(() => eventually('the group is served by Annex', look));
    const end = await phase(KILLED);
    say(
      `killed while ${killed.join(', ')}; ${end}: ${(await condition(cluster, `adoption/${KILLED}`, 'Switched')).message}`,
    );
    expect(killed.length).toBeGreaterThan(0);
    await writeAgain(busy);
    await settle(KILLED, busy, killed.includes('Returning') ? WENT_BACK : undefined);
    expect(end).toBe('Served');
  });

  test('removing the fence during a switch ends the switch, and the cluster keeps the group', async () => {
    const { kubectl } = cluster;
    const busy = writers(MEDDLED, 3);
    const name = `annex-adoption.${MEDDLED}`;
    await adopt(MEDDLED, 'Annex');
    await eventually('the fence is there', async () =>
      (await phase(MEDDLED)) === 'Fencing' &&
      (await kubectl.run(['delete', 'validatingadmissionpolicybinding', name])).code === 0
        ? true
        : undefined,
    );
    const failed = await outcomeOf(MEDDLED);
    say(failed.message);
    await writeAgain(busy);
    await settle(MEDDLED, busy);
    expect(failed.message).toMatch(/^the switch is given up: the fence/);
    const service = await kubectl.ok(['get', 'apiservice', `v1.${MEDDLED}`, '-o', 'jsonpath={.spec.service}']);
    expect(service).toBe('');
    // The switch succeeds on the second attempt.
    await adopt(MEDDLED, 'Cluster');
    await adopt(MEDDLED, 'Annex');
    await condition(cluster, `adoption/${MEDDLED}`, 'Switched', ({ status }) => status === 'True');
  });

  test('a switch that refuses writes for too long is given up, and tried again by itself', async () => {
    const { kubectl } = cluster;
    const limited = (seconds: number): Promise<unknown> => {
      const spec = { servedBy: 'Annex', maxWriteRefusalSeconds: seconds };
      return kubectl.ok(['patch', 'adoption', TIMED, '--type=merge', '-p', JSON.stringify({ spec })]);
    };
    const busy = writers(TIMED, 2);
    const release = await denyUpdates(cluster, `widgets.${TIMED}`);
    await limited(15);
    await eventually('the switch is given up', async () => ((await phase(TIMED)) === 'Returning' ? true : undefined));
    await release();
    const isGivenUp = ({ reason }: Condition): boolean => reason === 'GivenUp';
    const { message } = await condition(cluster, `adoption/${TIMED}`, 'Switched', isGivenUp);
    say(message);
    expect(message).toMatch(/^the switch is given up: .*; it is tried again after 20/);
    await writeAgain(busy);
    // With another spec, it is tried at once.
    await limited(120);
    await condition(cluster, `adoption/${TIMED}`, 'Switched', ({ status }) => status === 'True');
    await writeAgain(busy);
    await settle(TIMED, busy, WENT_BACK);
  });

  test('a switch that is given up late: the cluster keeps the group, and informers converge', async () => {
    const { kubectl } = cluster;
    const listed = async (server = cluster.http): Promise<number> =>
      Number(digText(treeOf(await server.get(`/apis/${GIVEN_UP}/v1/widgets?limit=1`)), 'metadata', 'resourceVersion'));
    const busy = writers(GIVEN_UP, 2);
    const release = await denyUpdates(cluster, `widgets.${GIVEN_UP}`);
    await adopt(GIVEN_UP, 'Annex');
    const isHeld = async (): Promise<true | undefined> => {
      const { message } = await condition(cluster, `adoption/${GIVEN_UP}`, 'Ready');
      return message.includes('held by a test') || undefined;
    };
    await eventually('the last step fails', isHeld);
    const shown = await Promise.all(cluster.https.map(listed));
    // These informers list from Annex.
    const informers = informerMissing
      ? []
      : [false, true].map((streaming) => new Informer(cluster.adminConfig, NAMESPACE, streaming, GIVEN_UP));
    for (const informer of informers) await informer.sees('synced');
    await kubectl.ok(['delete', 'validatingadmissionpolicybinding', `annex-adoption.${GIVEN_UP}`]);
    await release();
    const began = performance.now();
    const failed = await outcomeOf(GIVEN_UP);
    say(`${failed.message}; it took ${((performance.now() - began) / 1000).toFixed(1)} s`);
    expect(failed.message).toMatch(/^the switch is given up: the fence/);
    await writeAgain(busy);
    await settle(GIVEN_UP, busy, WENT_BACK);
    for (const server of cluster.https) expect(await listed(server)).toBeGreaterThan(Math.max(...shown));
    const last = { method: 'POST', path: widgetsPath(NAMESPACE, '', GIVEN_UP) };
    const body = widgetText('zz-last', { colour: 'red' }, {}, GIVEN_UP);
    // Each kube-apiserver observes for itself that the fence is gone.
    await eventually('the cluster takes writes', async () =>
      (await cluster.http.send({ ...last, body })).status === 201 ? true : undefined,
    );
    const held = namesOf(await all(GIVEN_UP));
    for (const informer of informers) {
      await informer.sees('add', 'zz-last');
      expect((await informer.end()).keys.sort()).toEqual(held.sort());
    }
    const crd = treeOf({ text: await kubectl.ok(['get', 'crd', `widgets.${GIVEN_UP}`, '-o', 'json']) });
    expect(digList(crd, 'spec', 'names', 'categories')).toEqual(['things']);
  });
});
