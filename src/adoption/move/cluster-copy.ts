import { deepEqual, type JsonObject, objectAt, objectsOf, textOf } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import { ClusterCollection, failure } from '../rehearsal/collection.js';

/** An annotation that an object has for a moment, to get a new revision without a change. */
const TOUCHED = 'kubeannex.io/touched';
/** The metadata fields that kube-apiserver sets itself. */
export const SERVER_SET_FIELDS = [
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
];

export interface ReturnedType {
  /** `<plural>.<group>`. */
  readonly resource: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** True if the back door has a status subresource. */
  readonly hasStatus: boolean;
}

/** Returns the type of a definition of Annex. */
export function returnedType(definition: KubeObject): ReturnedType {
  const spec = objectAt(definition, 'spec') ?? {};
  const names = objectAt(spec, 'names');
  const stored = objectsOf(spec['versions']).find((version) => version['storage'] === true);
  return {
    resource: definition.metadata.name ?? '',
    plural: textOf(names?.['plural']),
    kind: textOf(names?.['kind']),
    namespaced: spec['scope'] === 'Namespaced',
    hasStatus: objectAt(objectAt(stored, 'subresources'), 'status') !== undefined,
  };
}

/** The type and key of an object. */
export interface ObjectRef {
  readonly type: ReturnedType;
  readonly key: string;
}

/** The cluster's copy of a group, accessed through the back door. Methods throw ClusterError; a conflict has status 409. */
export class ClusterCopy {
  constructor(
    private readonly client: Pick<ClusterClient, 'call' | 'watch'>,
    /** `/apis/<group>/<version>` */
    private readonly groupVersion: string,
  ) {}

  collection({ plural }: ReturnedType): ClusterCollection {
    return new ClusterCollection(this.client, this.groupVersion, plural);
  }

  async makeEqual(place: ObjectRef, object: KubeObject, before: KubeObject): Promise<KubeObject> {
    let found = before;
    if (!isSame(found, object, place.type)) found = await this.write(place, object, found);
    if (place.type.hasStatus && !deepEqual(found['status'], object['status']))
      found = await this.write(place, object, found, '/status');
    const managed = object.metadata['managedFields'];
    // Each writer becomes the manager of the fields it changes; another write changes only managedFields.
    if (managed !== undefined && !deepEqual(managed, found.metadata['managedFields']))
      found = await this.write(place, object, found);
    return found;
  }

  async read(place: ObjectRef): Promise<KubeObject | undefined> {
    const { status, body } = await this.client.call('GET', this.path(place));
    if (status === 404) return undefined;
    return objectOrThrow(status, body);
  }

  async create(place: ObjectRef, object: KubeObject): Promise<KubeObject> {
    const { status, body } = await this.client.call('POST', this.collectionPath(place), object);
    return objectOrThrow(status, body);
  }

  private async write(place: ObjectRef, object: KubeObject, found: KubeObject, subresource = ''): Promise<KubeObject> {
    const { uid = '', resourceVersion = '' } = found.metadata;
    const metadata = { ...object.metadata, uid, resourceVersion };
    const { status, body } = await this.client.call('PUT', this.path(place) + subresource, {
      ...object,
      metadata,
    });
    return objectOrThrow(status, body);
  }

  /** Gives an object that is already up to date a newer revision. */
  async touch(place: ObjectRef, object: KubeObject, found: KubeObject): Promise<KubeObject> {
    const annotations = { ...object.metadata.annotations, [TOUCHED]: '' };
    const touched = await this.write(place, { ...object, metadata: { ...object.metadata, annotations } }, found);
    return this.write(place, object, touched);
  }

  /** Deletes an object without waiting for its finalizers: it is gone in Annex. */
  async remove(place: ObjectRef, found: KubeObject): Promise<void> {
    let last = found;
    if ((found.metadata.finalizers ?? []).length > 0) {
      const { finalizers: _, ...metadata } = found.metadata;
      last = await this.write(place, { ...found, metadata }, found);
    }
    await this.delete(place, last);
  }

  async delete(place: ObjectRef, { metadata: { uid = '', resourceVersion = '' } }: KubeObject): Promise<void> {
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
    const { status, body } = await this.client.call('DELETE', this.path(place), options);
    if (status !== 404) objectOrThrow(status, body);
  }

  private collectionPath({ type, key }: ObjectRef): string {
    const slash = key.indexOf('/');
    const namespace = slash < 0 ? '' : `/namespaces/${encodeURIComponent(key.slice(0, slash))}`;
    return `${this.groupVersion}${namespace}/${type.plural}`;
  }

  private path(place: ObjectRef): string {
    return `${this.collectionPath(place)}/${encodeURIComponent(place.key.slice(place.key.indexOf('/') + 1))}`;
  }
}

function objectOrThrow(status: number, body: JsonObject): KubeObject {
  if (status >= 300) throw failure(status, body);
  return body as KubeObject;
}

/** Compares everything except the fields that the server sets, managedFields, and a status that is written separately. */
function isSame(found: KubeObject, object: KubeObject, { hasStatus }: ReturnedType): boolean {
  const ofUsers = ({ metadata, status, ...rest }: KubeObject): JsonObject => ({
    ...rest,
    ...(!hasStatus && { status: status ?? null }),
    metadata: Object.fromEntries(
      Object.entries(metadata).filter(([name]) => name !== 'managedFields' && !SERVER_SET_FIELDS.includes(name)),
    ),
  });
  return deepEqual(ofUsers(found), ofUsers(object));
}
