import { parseJson } from '../../apimachinery/json/decode.js';
import { deepEqual, isObject, type JsonObject, objectAt, objectsOf, textOf } from '../../apimachinery/json/json.js';
import { type ClusterClient, ClusterError } from '../../client/cluster-client.js';
import {
  type Dependent,
  type DependentCollection,
  type Dependents,
  dependentsOf,
  dependentsText,
  nameOfDependent,
  ownersOf,
  pathOfDependent,
} from '../../client/dependents.js';
import type { Backend } from '../../storage/interfaces.js';
import type { ReturnedType } from './cluster-copy.js';

/** An annotation on dependents that have the Adoption as a second owner: the owner references whose UIDs change. */
const OWNERS = 'kubeannex.io/owners';
const MERGE = 'application/merge-patch+json';
const WORKERS = 8;
const ATTEMPTS = 10;

/** How to treat objects outside the group that are owned by objects created in Annex. */
export type DependentsPolicy = 'Refuse' | 'Repoint' | 'Abandon';

export interface ExternalDependentsOptions {
  readonly client: Pick<ClusterClient, 'call' | 'metadata'>;
  readonly backend: Pick<Backend, 'get'>;
  readonly group: string;
  readonly policy: DependentsPolicy;
  /** The UID of the Adoption, whose name is the group. */
  readonly adoption: string;
}

/** The reason why the group stays with Annex. */
export class DependentsError extends Error {
  constructor(
    message: string,
    /** True if there are dependents; false if they are unknown. */
    readonly areKnown: boolean,
  ) {
    super(message);
  }
}

/**
 * Handles objects outside the group that are owned by objects of the group. The garbage collector deletes those whose owners' UIDs are
 * gone. So before the group leaves, they get a second owner that stays, the Adoption; they lose it when the new UIDs of their owners are
 * known.
 */
export class ExternalDependents {
  /** The collections with dependents of the group; undefined before the first `prepare`. */
  private collections: readonly DependentCollection[] | undefined;

  constructor(private readonly options: ExternalDependentsOptions) {}

  /** Searches all resources the first time, and later only those in which objects of the group own something. Throws DependentsError. */
  async prepare(born: ReadonlySet<string>): Promise<void> {
    const { client, group, policy } = this.options;
    if (policy === 'Abandon' || born.size === 0) return;
    const found = await dependentsOf(client, group, born, this.collections);
    const isBlocked = policy === 'Refuse' && found.objects.length > 0;
    if (isBlocked || found.unread.length > 0) throw refusal(found);
    this.collections ??= [...found.collections.keys()];
    await each(found.objects, (one) => this.addAdoptionOwner(one, born));
  }

  /** Once the cluster serves the group, points the dependents at the new UIDs. Returns the number of dependents. */
  async repoint(types: readonly ReturnedType[]): Promise<number> {
    return this.removeAdoptionOwner((owners, namespace) =>
      Promise.all(owners.map((owner) => this.withClusterUid(types, owner, namespace))),
    );
  }

  /** Restores the dependents when the group stays with Annex. */
  async undo(): Promise<void> {
    await this.removeAdoptionOwner((owners) => Promise.resolve(owners));
  }

  private async addAdoptionOwner(dependent: Dependent, born: ReadonlySet<string>): Promise<void> {
    const { group, adoption } = this.options;
    await change(this.options.client, dependent, (metadata) => {
      const owners = ownersOf(metadata);
      const moving = owners.filter((owner) => born.has(textOf(owner['uid'])));
      if (moving.length === 0) return undefined;
      const second = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', name: group, uid: adoption };
      const isHeld = owners.some(({ uid }) => uid === adoption);
      const ownerReferences = isHeld ? owners : [...owners, second];
      return { ownerReferences, annotations: { [OWNERS]: JSON.stringify(moving) } };
    });
  }

  private async removeAdoptionOwner(
    moved: (owners: readonly JsonObject[], namespace: string) => Promise<readonly JsonObject[]>,
  ): Promise<number> {
    const { client, group, policy, adoption } = this.options;
    if (policy !== 'Repoint') return 0;
    const { objects } = await dependentsOf(client, group, new Set([adoption]), this.collections);
    await each(objects, (one) =>
      change(client, one, async (metadata) => {
        const noted = recordedOwners(metadata);
        const uids = new Set(noted.map(({ uid }) => uid));
        // The garbage collector may already have removed references to owners that are gone.
        const others = ownersOf(metadata).filter(({ uid = null }) => uid !== adoption && !uids.has(uid));
        const ownerReferences = [...others, ...(await moved(noted, textOf(metadata['namespace'])))];
        return { ownerReferences, annotations: { [OWNERS]: null } };
      }),
    );
    return objects.length;
  }

  /** Returns the reference with the owner's UID in the cluster; unchanged if the owner is gone. */
  private async withClusterUid(
    types: readonly ReturnedType[],
    owner: JsonObject,
    namespace: string,
  ): Promise<JsonObject> {
    const { backend, client, group } = this.options;
    const type = types.find(({ kind }) => kind === owner['kind']);
    if (type === undefined) return owner;
    const name = textOf(owner['name']);
    const stored = await backend.get(type.resource, type.namespaced ? `${namespace}/${name}` : name);
    const ours = stored && parseJson(stored.bytes);
    // It was created again under the same name.
    if (!isObject(ours) || objectAt(ours, 'metadata')?.['uid'] !== owner['uid']) return owner;
    const version = textOf(owner['apiVersion']).slice(group.length + 1);
    const collection = { groupVersion: `/apis/${group}/${version}`, group, plural: type.plural };
    const metadata = { name, ...(type.namespaced && { namespace }) };
    const { status, body } = await client.call('GET', pathOfDependent({ collection, metadata }));
    if (status === 404) return owner;
    const uid = objectAt(body, 'metadata')?.['uid'];
    if (status !== 200 || uid === undefined) throw new ClusterError(status, `GET ${type.plural} ${name}: ${status}`);
    return { ...owner, uid };
  }
}

const refusal = (found: Dependents): DependentsError =>
  new DependentsError(dependentsText(found), found.objects.length > 0);

function recordedOwners(metadata: JsonObject): readonly JsonObject[] {
  const text = textOf(objectAt(metadata, 'annotations')?.[OWNERS]);
  return text === '' ? [] : objectsOf(parseJson(text));
}

/** Patches the metadata of an object and retries on conflict. Does nothing if the object is gone or `next` returns no change. */
async function change(
  client: ExternalDependentsOptions['client'],
  dependent: Dependent,
  next: (metadata: JsonObject) => JsonObject | undefined | Promise<JsonObject | undefined>,
): Promise<void> {
  const path = pathOfDependent(dependent);
  let { metadata } = dependent;
  for (let attempt = 1; ; attempt++) {
    const wanted = await next(metadata);
    if (wanted === undefined || deepEqual(wanted, metadata)) return;
    const { uid = null, resourceVersion = null } = metadata;
    const { status, body } = await client.call('PATCH', path, { metadata: { ...wanted, uid, resourceVersion } }, MERGE);
    if (status < 300 || status === 404) return;
    if (status !== 409 || attempt >= ATTEMPTS)
      throw new ClusterError(status, `${nameOfDependent(dependent)}: ${textOf(body['message'])}`);
    const now = await client.call('GET', path);
    // Another object has the name now.
    if (now.status === 404 || objectAt(now.body, 'metadata')?.['uid'] !== uid) return;
    metadata = objectAt(now.body, 'metadata') ?? {};
  }
}

async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    for (let one = all[next++]; one !== undefined; one = all[next++]) await work(one);
  };
  await Promise.all(Array.from({ length: WORKERS }, run));
}
