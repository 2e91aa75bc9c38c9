import type { AdmissionChain } from '../../admission/interfaces.js';
import { deepCopy, deepEqual, isObject, type JsonObject } from '../../apimachinery/json/json.js';
import { parseJson } from '../../apimachinery/json/decode.js';
import { ApiError, newForbidden } from '../../apimachinery/meta/errors.js';
import { type KubeObject, type ObjectMeta, quote } from '../../apimachinery/meta/meta.js';
import type { UserInfo } from '../../authentication/user/user.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import { decodeInVersion } from '../../registry/generic/conversion-retry.js';
import type { StoredApi } from '../../registry/generic/store/api-registry.js';
import type { PatchRequest } from '../../registry/rest/storage.js';
import type { RequestContext } from '../../request/context.js';
import { encodeObject } from '../../storage/encode.js';
import type { KeptContent } from '../../storage/kept/interfaces.js';
import { encodedBytes } from '../../storage/object-bytes.js';
import type { Clock } from '../../util/clock.js';
import { NEVER_ABORTED } from '../../util/never-aborted.js';
import { RESTORE_MANAGER } from '../names.js';
import type { Outcome, Refusal } from './report.js';

export interface WriterOptions {
  readonly user: UserInfo;
  readonly authorizer: Authorizer;
  readonly admission: AdmissionChain;
  readonly clock: Clock;
  /** The uid of the restore, by which its writes are told from others. */
  readonly id: string;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly withoutFinalizers: boolean;
}

/** A state and the place where it is to be. */
export interface Target {
  readonly namespace: string;
  readonly name: string;
  /** The state as the type shows it today. */
  readonly state: KubeObject;
  /** For the undo of an update, the revision of the object's newest state; undefined for deleted objects. */
  readonly newest: number | undefined;
  /** True if an object that is there already is none of the restore's business: the cluster makes it anew by itself. */
  readonly yields: boolean;
}

export interface Written {
  readonly outcome: Outcome;
  /** The uid of the object that was brought back. */
  readonly uid?: string | undefined;
  /** Set if the object is back without its status. */
  readonly withoutStatus?: Refusal | undefined;
}

const NAME_TAKEN: Outcome = { kind: 'conflict', message: 'a newer object has the name' };

/** Ends a write without one. */
class Undone extends Error {
  constructor(readonly outcome: Outcome) {
    super(outcome.kind);
  }
}

/** Writes states as their creator would: with the rights of a user, through admission, validation and quota. */
export class RestoreWriter {
  private readonly rights = new Map<string, Promise<boolean>>();

  constructor(private readonly options: WriterOptions) {}

  /** Brings an object back. Throws what is no answer about the object, such as a store that is away. */
  async write(api: StoredApi, target: Target): Promise<Written> {
    try {
      const written = await this.put(api, target);
      const { uid } = written.metadata;
      return { outcome: { kind: 'restored' }, uid, withoutStatus: await this.putStatus(api, target, written) };
    } catch (error) {
      if (error instanceof Undone) return { outcome: error.outcome };
      return { outcome: refusalOf(error) };
    }
  }

  private async put(api: StoredApi, target: Target): Promise<KubeObject> {
    const { served, storage, store } = api;
    const { namespace, name } = target;
    const exists = target.newest !== undefined || store.cache.peek(store.key(namespace, name)) !== undefined;
    if (exists) await this.check(api, 'update', namespace, name, '');
    const { object, stored } = await storage.patch({
      ...this.request(api, target, ''),
      part: served,
      // A write that creates objects.
      apply: true,
      authorizeCreate: () => this.check(api, 'create', namespace, name, ''),
      make: (current) => {
        // The right to update it has not been checked.
        if (current !== undefined && !exists && !target.yields) throw new Undone(NAME_TAKEN);
        return this.make(target, current);
      },
    });
    return stored === undefined ? object : decodeInVersion(served, stored);
  }

  /** Returns the object to write, or ends the write. */
  private make({ state, newest, name, namespace, yields }: Target, current: KubeObject | undefined): KubeObject {
    const { force, withoutFinalizers } = this.options;
    const next = deepCopy(state);
    clean(next.metadata);
    next.metadata.name = name;
    if (namespace !== '') next.metadata.namespace = namespace;
    if (withoutFinalizers) delete next.metadata.finalizers;
    if (current === undefined) return next;
    if (yields || isSame(next, current)) throw new Undone({ kind: 'unchanged' });
    const revision = current.metadata.resourceVersion ?? '';
    if (!force) {
      if (newest === undefined || state.metadata.uid !== current.metadata.uid) throw new Undone(NAME_TAKEN);
      if (String(newest) !== revision)
        throw new Undone({ kind: 'conflict', message: `it was changed at revision ${revision}` });
    }
    next.metadata.resourceVersion = revision;
    const { uid } = current.metadata;
    if (uid !== undefined) next.metadata.uid = uid;
    return next;
  }

  /** Writes the status to the object that was brought back, unless somebody has changed it since. Returns why it is not restored. */
  private async putStatus(api: StoredApi, target: Target, written: KubeObject): Promise<Refusal | undefined> {
    const { served, storage } = api;
    const { status } = target.state;
    const part = served.subresources['status'];
    if (part === undefined || status === undefined || this.options.dryRun || isRecomputed(api)) return undefined;
    if (deepEqual(status, written['status'])) return undefined;
    try {
      await this.check(api, 'update', target.namespace, target.name, 'status');
      await storage.patch({
        ...this.request(api, target, 'status'),
        part,
        apply: false,
        authorizeCreate: () => Promise.resolve(),
        make: (current) => {
          if (current?.metadata.resourceVersion !== written.metadata.resourceVersion)
            throw new ApiError(409, 'Conflict', 'the object was changed before its status could be restored');
          return { ...deepCopy(current as KubeObject), status: deepCopy(status) };
        },
      });
      return undefined;
    } catch (error) {
      return { ...refusalOf(error), reason: 'StatusNotRestored' };
    }
  }

  private request(
    { served }: StoredApi,
    { namespace, name, newest }: Target,
    subresource: string,
  ): Pick<PatchRequest, 'context' | 'namespace' | 'name' | 'admission' | 'optionsFor'> {
    const { user, admission, clock, id, dryRun } = this.options;
    const { group, version } = served.gvk;
    const context: RequestContext = {
      info: {
        isResourceRequest: true,
        path: '',
        verb: newest === undefined && subresource === '' ? 'create' : 'update',
        apiPrefix: group === '' ? 'api' : 'apis',
        apiGroup: group,
        apiVersion: version,
        namespace,
        resource: served.groupResource.resource,
        subresource,
        name,
        parts: [],
        fieldSelector: '',
        labelSelector: '',
      },
      user,
      userAgent: RESTORE_MANAGER,
      auditId: id,
      signal: NEVER_ABORTED,
      cancellation: NEVER_ABORTED,
      receivedAt: clock.now(),
      dryRun,
      warn: () => undefined,
      annotate: () => undefined,
    };
    return { context, namespace, name, admission, optionsFor: (operation) => optionsFor(operation, dryRun) };
  }

  /** Throws 403 unless the user may. */
  async check(
    { served }: StoredApi,
    verb: string,
    namespace: string,
    name: string,
    subresource: string,
  ): Promise<void> {
    const { user } = this.options;
    const { groupResource: type, gvk } = served;
    const ask = (of: string): Promise<boolean> => {
      const id = [gvk.group, type.resource, subresource, verb, namespace, of].join('\0');
      let answer = this.rights.get(id);
      if (answer === undefined) {
        const attributes = {
          user,
          verb,
          resourceRequest: true,
          namespace,
          apiGroup: gvk.group,
          apiVersion: gvk.version,
          resource: type.resource,
          subresource,
          name: of,
          path: '',
        };
        answer = Promise.resolve(this.options.authorizer.authorize(attributes, new AbortController().signal)).then(
          ({ decision }) => decision === 'allow',
        );
        this.rights.set(id, answer);
      }
      return answer;
    };
    if ((await ask('')) || (verb !== 'create' && (await ask(name)))) return;
    const what = subresource === '' ? type.resource : `${type.resource}/${subresource}`;
    throw newForbidden(type, name, `User ${quote(user.name)} cannot ${verb} resource ${quote(what)}`);
  }
}

function optionsFor(operation: 'CREATE' | 'UPDATE', dryRun: boolean): JsonObject {
  return {
    kind: operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions',
    apiVersion: 'meta.k8s.io/v1',
    fieldManager: RESTORE_MANAGER,
    ...(dryRun && { dryRun: ['All'] }),
  };
}

/** The status of namespaces and definitions is what controllers make of them: that of then says that they are being deleted. */
const RECOMPUTED: ReadonlySet<string> = new Set([
  'namespaces',
  'resourcedefinitions.kubeannex.io',
  'customresourcedefinitions.apiextensions.k8s.io',
]);

const isRecomputed = ({ store }: StoredApi): boolean => RECOMPUTED.has(store.resource);

/** Removes what the server sets. */
function clean(meta: ObjectMeta): void {
  delete meta.uid;
  delete meta.resourceVersion;
  delete meta.creationTimestamp;
  delete meta.generation;
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  delete meta.selfLink;
}

/** Reports whether an object is in the state to bring back, apart from bookkeeping. */
function isSame(next: KubeObject, current: KubeObject): boolean {
  const bare = ({ metadata, ...rest }: KubeObject): JsonObject => {
    const { managedFields: _, ...meta } = deepCopy(metadata);
    clean(meta);
    return { ...rest, metadata: meta };
  };
  return deepEqual(bare(next), bare(current));
}

/** Returns the refusal that an error is. Throws an error that says nothing about the object. */
function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ApiError) || error.code === 429 || error.code === 503) throw error;
  return { kind: 'refused', reason: error.reason || 'InternalError', message: error.message };
}

/**
 * Returns a kept state as the type shows it today. A version that the definition no longer has is taken for the stored one: its fields are
 * pruned and validated as those are.
 */
export async function shownState(
  { served }: StoredApi,
  key: string,
  { bytes, flags, revision }: KeptContent,
): Promise<KubeObject> {
  const stored = { key, revision, bytes, flags };
  const tree = parseJson(bytes);
  if (!isObject(tree)) throw new ApiError(500, 'InternalError', 'the kept state cannot be decoded');
  const { apiVersion } = tree;
  const { group } = served.gvk;
  const isKnown = !served.type.custom || served.type.versions.some(({ name }) => apiVersion === `${group}/${name}`);
  if (isKnown) return deepCopy(await decodeInVersion(served, stored));
  const encoded = encodeObject({ ...tree, apiVersion: served.groupVersion });
  return deepCopy(await decodeInVersion(served, { key, revision, flags: 0, bytes: encodedBytes(encoded, revision) }));
}
