import { Command } from 'commander';
import { DETACHED } from '../../client/detached.js';
import { type JsonObject, objectAt, objectsOf, stringAt, textOf } from '../../apimachinery/json/json.js';
import { nameOf } from '../../apimachinery/meta/meta.js';
import type { Cluster } from '../../client/lists.js';
import type { Clock } from '../../util/clock.js';
import { withCluster } from '../adopt/command.js';
import { printLine } from '../adopt/wait.js';
import { withServiceFlags } from './detach.js';
import { API_SERVICES, configMapPath, ownApiServices, recordedServices, type ServiceName } from './record.js';

interface AttachOptions extends ServiceName {
  readonly kubeconfig?: string;
  readonly dryRun: boolean;
}

/** `annex attach`: puts back what `annex detach` took away. */
export function attachCommand(clock: Clock): Command {
  return withServiceFlags(
    new Command('attach').description(
      'Puts back the APIServices that annex detach took out of the cluster. Needs no running Annex.',
    ),
  ).action(async (options: AttachOptions) => {
    await withCluster(options.kubeconfig, clock, (cluster) => attach(cluster, options));
  });
}

/** Prints what it does. Throws if an APIService belongs to somebody else now; the others are put back nevertheless. */
export async function attach(cluster: Cluster, options: AttachOptions): Promise<void> {
  const { namespace, dryRun } = options;
  const path = `${configMapPath(namespace)}/${DETACHED}`;
  const record = await cluster.must('GET', path);
  if (record === undefined)
    throw new Error(`there is no ConfigMap ${namespace}/${DETACHED}: Annex is not detached from this cluster`);
  const services = recordedServices(record);
  const taken: string[] = [];
  let created = 0;
  for (const service of services) {
    const name = nameOf(service);
    const existing = await cluster.must('GET', `${API_SERVICES}/${name}`);
    if (existing !== undefined) {
      if (ownApiServices([existing], options).length === 0) taken.push(name);
      continue;
    }
    created++;
    if (!dryRun) await cluster.must('POST', API_SERVICES, await withLivingOwners(cluster, service));
  }
  if (dryRun) printLine(`Would put back ${created} APIServices: ${services.map(nameOf).join(', ')}.`);
  else await cluster.must('DELETE', path);
  const text = `${taken.join(', ')}: the cluster has another APIService of this name now, which is left alone`;
  if (!dryRun) printLine(`Attached: ${created} APIServices are back. Replicas that run register what is new since.`);
  if (taken.length > 0) throw new Error(text);
}

/** Leaves out owners that are gone, because the garbage collector would delete the APIService with them. */
async function withLivingOwners(cluster: Cluster, service: JsonObject): Promise<JsonObject> {
  const metadata = objectAt(service, 'metadata') ?? {};
  const living: JsonObject[] = [];
  for (const owner of objectsOf(metadata['ownerReferences'])) {
    const { name, kind, uid } = owner;
    if (kind !== 'ClusterRole') continue;
    const found = await cluster.must('GET', `/apis/rbac.authorization.k8s.io/v1/clusterroles/${textOf(name)}`);
    if (found !== undefined && stringAt(objectAt(found, 'metadata'), 'uid') === uid) living.push(owner);
  }
  const { ownerReferences: _, ...rest } = metadata;
  return { ...service, metadata: living.length === 0 ? rest : { ...rest, ownerReferences: living } };
}
