import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { digList, digText, type Http1, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import type { Result } from '../../conformance/kubectl.js';
import type { TestCluster } from '../cluster.js';
import { say } from '../suite.js';
import { DISCOVERY, widgetsPath, widgetText } from '../widgets.js';

interface ListedVersion {
  readonly version: string;
  readonly freshness: string;
  readonly resources: readonly string[];
}

/** Returns the versions of a group in the aggregated discovery of one kube-apiserver, in its order. */
export async function listedVersions(server: Http1, group: string): Promise<readonly ListedVersion[]> {
  const groups = digList(treeOf(await server.get('/apis', { accept: DISCOVERY })), 'items');
  const found = groups.find((one) => digText(one, 'metadata', 'name') === group);
  return digList(found, 'versions').map((version) => ({
    version: digText(version, 'version'),
    freshness: digText(version, 'freshness'),
    resources: digList(version, 'resources').map((resource) => digText(resource, 'resource')),
  }));
}

/**
 * Checks that whatever goes by discovery knows the widgets of a group at every kube-apiserver: kubectl with an empty cache, the garbage
 * collector, and the deletion of namespaces. Leaves nothing behind.
 */
export async function isKnownEverywhere(
  cluster: TestCluster,
  group: string,
  versions: readonly string[],
): Promise<void> {
  const { kubectl, https } = cluster;
  const wanted = versions.map((version) => ({ version, freshness: 'Current', resources: ['widgets'] }));
  for (const server of https) {
    await eventually('the types are listed, and nothing else', async () =>
      JSON.stringify(await listedVersions(server, group)) === JSON.stringify(wanted) ? true : undefined,
    ).catch(async (error: unknown) => {
      throw new Error(JSON.stringify(await listedVersions(server, group)), { cause: error });
    });
    const legacy = treeOf(await server.get(`/apis/${group}`));
    expect(digText(legacy, 'preferredVersion', 'version')).toBe(versions[0]);
    expect(digList(legacy, 'versions').map((one) => digText(one, 'version'))).toEqual(versions);
  }
  for (const address of cluster.apiservers) {
    // An empty cache, as on another machine.
    const cache = mkdtempSync(join(cluster.folder, 'discovery-'));
    const fresh = (...args: string[]): Promise<Result> =>
      kubectl.run([`--server=https://${address}`, `--cache-dir=${cache}`, ...args]);
    expect(await fresh('get', `widgets.${group}`, '-A')).toMatchObject({ code: 0 });
    expect((await fresh('api-resources', `--api-group=${group}`)).stdout).toMatch(
      new RegExp(`widgets +wg +${group}/${versions[0]} +true +Widget`),
    );
  }
  await isCollected(cluster, group);
}

let rounds = 0;

/** Checks foreground deletion, a dependent of a deleted owner on either side, and the deletion of a namespace with objects of the group. */
async function isCollected({ kubectl, http }: TestCluster, group: string): Promise<void> {
  const namespace = `collected-${++rounds}`;
  await kubectl.ok(['create', 'namespace', namespace]);
  const create = async (name: string, metadata: object = {}): Promise<string> => {
    const body = widgetText(name, { colour: 'red' }, metadata, group);
    // The fence of a switch that has just been given up may still be known somewhere.
    return eventually(`${name} is created`, async () => {
      const answer = await http.send({ method: 'POST', path: widgetsPath(namespace, '', group), body });
      return answer.status === 201 ? digText(treeOf(answer), 'metadata', 'uid') : undefined;
    });
  };
  const isGone = async (path: string): Promise<void> => {
    const began = performance.now();
    await eventually(`${path} is gone`, async () => ((await http.get(path)).status === 404 ? true : undefined));
    say(`${path} went after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  };
  const ownedBy = (name: string, uid: string, blockOwnerDeletion = false): object => ({
    ownerReferences: [{ apiVersion: `${group}/v1`, kind: 'Widget', name, uid, blockOwnerDeletion }],
  });
  const configMap = async (name: string, metadata: object): Promise<string> => {
    const made = await http.post(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name, ...metadata } });
    expect(made.status).toBe(201);
    return digText(treeOf(made), 'metadata', 'uid');
  };
  const remove = (path: string, propagationPolicy: string): Promise<unknown> =>
    http.send({ method: 'DELETE', path, body: JSON.stringify({ propagationPolicy }) });
  const core = `/api/v1/namespaces/${namespace}/configmaps`;
  await configMap('blocking', ownedBy('foreground', await create('foreground'), true));
  await configMap('dependent', ownedBy('owner', await create('owner')));
  const owner = await configMap('owner', {});
  await create('owned', { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner }] });
  await create('rest');
  await remove(widgetsPath(namespace, 'foreground', group), 'Foreground');
  await remove(widgetsPath(namespace, 'owner', group), 'Background');
  await remove(`${core}/owner`, 'Background');
  await isGone(`${core}/blocking`);
  await isGone(widgetsPath(namespace, 'foreground', group));
  await isGone(`${core}/dependent`);
  await isGone(widgetsPath(namespace, 'owned', group));
  await kubectl.ok(['delete', 'namespace', namespace, '--wait=false']);
  await isGone(`/api/v1/namespaces/${namespace}`);
  const left = treeOf(await http.get(`/apis/${group}/v1/widgets`));
  expect(digList(left, 'items').filter((one) => digText(one, 'metadata', 'namespace') === namespace)).toEqual([]);
}
