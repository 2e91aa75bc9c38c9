import { ApiError } from '../../../apimachinery/meta/errors.js';
import { deepCopy, isObject, type JsonValue } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { RBAC_GROUP } from '../../../authorization/rbac/types.js';
import { StorageError } from '../../../storage/errors.js';
import { sleep, type Clock } from '../../../util/clock.js';
import type { LoopbackClient, LoopbackClients } from '../../rest/loopback-client.js';
import { reconcileBinding, reconcileRole, type Reconciliation } from './reconcile.js';

/** The kinds in the order of their creation, with their resource. */
const KINDS = [
  ['ClusterRole', 'clusterroles', reconcileRole],
  ['ClusterRoleBinding', 'clusterrolebindings', reconcileBinding],
  ['Role', 'roles', reconcileRole],
  ['RoleBinding', 'rolebindings', reconcileBinding],
] as const;

/** Bindings that were split off others. If the first is missing, it is created with the subjects, labels and annotations of the second. */
const SPLIT: readonly (readonly [string, string])[] = [['system:public-info-viewer', 'system:discovery']];

const ROUND_MILLIS = 1_000;
const ROUNDS = 30;
/** The delays in milliseconds between attempts to write an object that other clients write at the same time. */
const BACKOFF_MILLIS = [10, 50, 250];
const RECREATE_ATTEMPTS = 3;

/** Parses the default roles and bindings in data/rbac-defaults.json. Throws if there is anything else in it. */
export function parseRbacDefaults(json: JsonValue): readonly KubeObject[] {
  const known = new Set<string>(KINDS.map(([kind]) => kind));
  if (!Array.isArray(json)) throw new Error('default roles: not a list');
  return json.map((item) => {
    if (!isKubeObject(item) || !known.has(item.kind ?? '')) throw new Error('default roles: not a role or binding');
    return item;
  });
}

function isKubeObject(value: JsonValue): value is KubeObject {
  return isObject(value) && isObject(value['metadata']) && typeof value['kind'] === 'string';
}

export interface BootstrapDependencies {
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called for every object that could not be created or updated. */
  failed(text: string): void;
}

/**
 * Creates the default roles and bindings, and adds what existing ones lack unless they opted out. Runs on each start. Retries for
 * half a minute and throws if some are still missing. Stored objects that cannot be decoded are reported and skipped: only an
 * administrator can remove them, and needs a server for that.
 */
export async function ensureRbacDefaults(
  defaults: readonly KubeObject[],
  dependencies: BootstrapDependencies,
): Promise<void> {
  const { clock, signal } = dependencies;
  for (let round = 0; round < ROUNDS; round++) {
    await sleep(clock, round === 0 ? 0 : ROUND_MILLIS, signal);
    if (signal.aborted) return;
    if (await attempt(defaults, dependencies)) return;
  }
  throw new Error('unable to initialize roles: timed out waiting for the condition');
}

async function attempt(defaults: readonly KubeObject[], dependencies: BootstrapDependencies): Promise<boolean> {
  let complete = true;
  try {
    await splitBindings(defaults, dependencies.clients);
  } catch (error) {
    dependencies.failed(`unable to prime split ClusterRoleBindings: ${String(error)}`);
    if (!isUnreadable(error)) return false;
  }
  for (const [kind, resource, reconcile] of KINDS) {
    const client = dependencies.clients.for({ group: RBAC_GROUP, resource });
    for (const expected of defaults) {
      if (expected.kind !== kind || dependencies.signal.aborted) continue;
      try {
        await withRetries(() => ensure(client, expected, reconcile, dependencies.clients), dependencies);
      } catch (error) {
        // A failure must not prevent the creation of the others.
        dependencies.failed(
          `unable to reconcile ${kind.toLowerCase()}.${RBAC_GROUP}/${expected.metadata.name ?? ''}: ${String(error)}`,
        );
        complete &&= isUnreadable(error);
      }
    }
  }
  return complete;
}

async function withRetries(run: () => Promise<void>, { clock, signal }: BootstrapDependencies): Promise<void> {
  for (const millis of BACKOFF_MILLIS) {
    try {
      await run();
      return;
    } catch (error) {
      if (!hasCode(error, 409) && !hasCode(error, 503)) throw error;
      await sleep(clock, millis, signal);
    }
  }
  await run();
}

async function ensure(
  client: LoopbackClient,
  expected: KubeObject,
  reconcile: (existing: KubeObject, expected: KubeObject) => Reconciliation,
  clients: LoopbackClients,
): Promise<void> {
  const { namespace = '', name = '' } = expected.metadata;
  for (let retriesLeft = RECREATE_ATTEMPTS; ; retriesLeft--) {
    try {
      const existing = await client.get(namespace, name);
      if (existing === undefined) await create(client, expected, clients);
      else await carryOut(client, existing, reconcile(existing, expected));
      return;
    } catch (error) {
      // Another client created or removed it meanwhile: read it again.
      if (retriesLeft === 0 || !(hasReason(error, 'AlreadyExists') || hasCode(error, 404))) throw error;
    }
  }
}

async function create(client: LoopbackClient, expected: KubeObject, clients: LoopbackClients): Promise<void> {
  const namespace = expected.metadata.namespace ?? '';
  if (namespace !== '') await ensureNamespace(namespace, clients);
  await client.create(deepCopy(expected));
}

async function ensureNamespace(name: string, clients: LoopbackClients): Promise<void> {
  const client = clients.for({ group: '', resource: 'namespaces' });
  if ((await client.get('', name)) !== undefined) return;
  try {
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  } catch (error) {
    if (!hasReason(error, 'AlreadyExists')) throw error;
  }
}

async function carryOut(client: LoopbackClient, existing: KubeObject, todo: Reconciliation): Promise<void> {
  if (todo.operation === 'none') return;
  if (todo.operation === 'update') {
    await client.update(todo.object);
    return;
  }
  const { namespace = '', name = '', uid } = existing.metadata;
  try {
    await client.delete(namespace, name, uid === undefined ? {} : { uid });
  } catch (error) {
    if (!hasCode(error, 404)) throw error;
  }
  await client.create(todo.object);
}

async function splitBindings(defaults: readonly KubeObject[], clients: LoopbackClients): Promise<void> {
  const client = clients.for({ group: RBAC_GROUP, resource: 'clusterrolebindings' });
  for (const [name, sourceName] of SPLIT) {
    const template = defaults.find((item) => item.kind === 'ClusterRoleBinding' && item.metadata.name === name);
    const source = template === undefined ? undefined : await client.get('', sourceName);
    if (template === undefined || source === undefined || (await client.get('', name)) !== undefined) continue;
    const { labels, annotations } = source.metadata;
    const object = deepCopy(template);
    object.metadata = {
      name,
      ...(labels && { labels: { ...labels } }),
      ...(annotations && { annotations: { ...annotations } }),
    };
    object['subjects'] = deepCopy(source['subjects']);
    try {
      await client.create(object);
    } catch (error) {
      if (!hasReason(error, 'AlreadyExists')) throw error;
    }
  }
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof ApiError && error.code === code;
}

const isUnreadable = (error: unknown): boolean => error instanceof StorageError && error.code === 'corrupt';

function hasReason(error: unknown, reason: string): boolean {
  return error instanceof ApiError && error.reason === reason;
}
