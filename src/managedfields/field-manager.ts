import { ApiError, newBadRequest, newApplyConflict } from '../apimachinery/meta/errors.js';
import { parseWritten } from '../apimachinery/json/decode.js';
import { deepCopy, isObject, type JsonObject, type JsonValue, objectAt, stringAt } from '../apimachinery/json/json.js';
import {
  formatGroupVersion,
  formatGroupVersionKind,
  formatTime,
  type KubeObject,
  type ManagedFieldsEntry,
  quote,
  goJson,
} from '../apimachinery/meta/meta.js';
import type { FieldSet } from '../structured-merge-diff/fieldpath/field-set.js';
import { type Conflict, ConflictsError } from '../structured-merge-diff/updater.js';
import { capUpdateManagers } from './cap.js';
import { type Applier, ConversionPending, type FieldManagerOptions } from './interfaces.js';
import { Managed, parseIdentifier } from './managed.js';
import { kindText, StructuredMerge, withoutManagedFields } from './structured-merge.js';
import { messageOf } from '../util/error-message.js';
import { isStackOverflow } from '../util/stack-overflow.js';
import { formatPath } from '../structured-merge-diff/fieldpath/path-element.js';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
/** The maximum size of all annotations of an object, keys and values, in bytes. */
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

/** The manager whose applies maintain the annotation of client-side apply and take over its fields. */
const KUBECTL = 'kubectl';

/** Returns the configuration of the last client-side apply, or undefined if there is none or it cannot be parsed. */
function lastApplied(object: JsonObject): JsonObject | undefined {
  const text = stringAt(objectAt(objectAt(object, 'metadata'), 'annotations'), ANNOTATION);
  if (text === undefined || text === '') return undefined;
  try {
    const value = parseWritten(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Replaces the configuration of the last client-side apply, if any, with the one being applied. Deletes it if the
 * annotations would be too large. Modifies the object in place.
 */
function updateLastApplied(object: KubeObject, configuration: JsonObject): void {
  const annotations = objectAt(object.metadata, 'annotations');
  const before = stringAt(annotations, ANNOTATION);
  if (annotations === undefined || before === undefined || before === '') return;
  const text = `${goJson(withoutAnnotation(configuration))}\n`;
  let bytes = Buffer.byteLength(ANNOTATION) + Buffer.byteLength(text);
  for (const key in annotations) {
    const value = annotations[key];
    if (key !== ANNOTATION && typeof value === 'string') bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > MAX_ANNOTATIONS_BYTES) delete annotations[ANNOTATION];
  else annotations[ANNOTATION] = text;
}

function withoutAnnotation(configuration: JsonObject): JsonObject {
  const copy = deepCopy(configuration);
  const annotations = objectAt(objectAt(copy, 'metadata'), 'annotations');
  if (annotations !== undefined) delete annotations[ANNOTATION];
  return copy;
}

/** Returns the 409 with one cause per field, grouped by the managers that own them. */
function conflictError(conflicts: readonly Conflict[]): ApiError {
  const paths = conflicts.map((conflict) => formatPath(conflict.path));
  const causes = conflicts.map((conflict, i) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${formatManager(conflict.manager)}`,
    field: paths[i] ?? '',
  }));
  const [only] = causes;
  if (only !== undefined && causes.length === 1) {
    return newApplyConflict(causes, `Apply failed with 1 conflict: ${only.message}: ${only.field}`);
  }
  const lines: string[] = [];
  let last: string | undefined;
  conflicts.forEach(({ manager }, i) => {
    if (manager !== last) lines.push(`conflicts with ${formatManager(manager)}:`);
    last = manager;
    lines.push(`- ${paths[i] ?? ''}`);
  });
  return newApplyConflict(causes, `Apply failed with ${String(conflicts.length)} conflicts: ${lines.join('\n')}`);
}

function formatManager(identifier: string): string {
  const { manager, operation, apiVersion, subresource } = parseIdentifier(identifier);
  const name = subresource === '' ? quote(manager) : `${quote(manager)} with subresource ${quote(subresource)}`;
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}

/** The manager name of an update until it is known whether the update changed anything. */
const CURRENT_OPERATION = 'current-operation';

/**
 * Maintains metadata.managedFields of one version of a type, for the whole object or one subresource. Created once per
 * (version, subresource) and shared by all requests. It has no state except caches, and its calls are synchronous.
 *
 * `live` is undefined if the object does not exist yet. It is never modified.
 */
export class FieldManager {
  private readonly merge: StructuredMerge;
  private readonly version: string;
  private readonly kind: string;
  private readonly empty: KubeObject;

  constructor(private readonly options: FieldManagerOptions) {
    this.merge = new StructuredMerge(options);
    this.version = formatGroupVersion(options.kind);
    this.kind = formatGroupVersionKind(options.kind);
    this.empty = { apiVersion: this.version, kind: options.kind.kind, ...options.emptyObject } as KubeObject;
  }

  /**
   * Tracks a create, an update or any patch except apply: assigns the differences between `live` and `next` to
   * `manager` (if empty: `unknown`). Sets or removes `next.metadata.managedFields`, changes nothing else, and returns
   * `next`. Unchanged entries are the same objects as in `next` or `live`, so copy them before modifying them in place.
   * A failure (for example an object that does not match its schema) never fails the request: the object then keeps the
   * managedFields of `live`. The only errors that are thrown are ConversionPending and that of a full stack, and `next` is then unchanged.
   */
  update(live: KubeObject | undefined, next: KubeObject, manager: string): KubeObject {
    let entries: ManagedFieldsEntry[] | undefined;
    try {
      entries = this.updated(live, next, manager);
    } catch (error) {
      if (error instanceof ConversionPending || isStackOverflow(error)) throw error;
      this.options.onError?.(error, next);
      entries = live?.metadata.managedFields;
    }
    setManagedFields(next, entries);
    return next;
  }

  /**
   * Server-side apply: merges `configuration`, decoded but otherwise as the client sent it, into `live`. Returns a new
   * object in the manager's version with defaults applied, which shares nothing with the arguments but unchanged
   * managedFields entries. Throws ApiError: 409 with its causes on conflicts unless `force` is set, 400 if the body is
   * not an apply configuration of this type, 500 if it does not match the schema (as in kube-apiserver); or
   * ConversionPending. Preconditions (uid, resourceVersion) of the configuration are kept in the result, for the store
   * to check.
   */
  apply(live: KubeObject | undefined, configuration: JsonObject, by: Applier): KubeObject {
    try {
      return this.applied(live, configuration, by);
    } catch (error) {
      if (error instanceof ConflictsError) throw conflictError(error.conflicts);
      if (error instanceof ApiError || error instanceof ConversionPending || isStackOverflow(error)) throw error;
      throw new ApiError(500, '', messageOf(error));
    }
  }

  private updated(live: KubeObject | undefined, next: KubeObject, manager: string): ManagedFieldsEntry[] | undefined {
    // Only subresources accept another kind, which their strategy then corrects. The error makes the object keep those of `live`.
    if (next.kind !== this.options.kind.kind || next.apiVersion !== this.version)
      throw new Error(`unexpected object type: ${kindText(next)}`);
    const managed = this.decodeLiveOrNext(live, next);
    // The object exists but has no managers: tracking starts with the first apply.
    if (managed.fields.size === 0 && hasUid(live)) return undefined;
    const before = live === undefined ? this.empty : withoutManagedFields(live);
    this.track(before, withoutManagedFields(next), managed, manager);
    return managed.encode();
  }

  private applied(live: KubeObject | undefined, configuration: JsonObject, by: Applier): KubeObject {
    const managed = decodeLive(live);
    const kind = kindText(configuration);
    if (kind !== this.kind) throw newBadRequest(`invalid object type: ${kind}`);
    const before = live === undefined ? this.empty : withoutManagedFields(live);
    const object = this.applyLastApplied(before, configuration, managed, by);
    // In its usual form, whatever the configuration has, such as `/v1`.
    object.apiVersion = this.version;
    // A configuration need not have metadata, but the result must.
    if (!isObject(object.metadata)) object.metadata = {};
    if (by.manager === KUBECTL) updateLastApplied(object, configuration);
    setManagedFields(object, managed.encode());
    return object;
  }

  /** Lets kubectl take over fields without a conflict if its own client-side apply set them and no other manager has changed them. */
  private applyLastApplied(live: KubeObject, configuration: JsonObject, managed: Managed, by: Applier): KubeObject {
    this.trackBeforeFirstApply(live, managed);
    try {
      return this.applyTracked(live, configuration, managed, by);
    } catch (error) {
      if (by.manager !== KUBECTL || !(error instanceof ConflictsError)) throw error;
      const allowed = this.allowedByLastApplied(live);
      if (allowed === undefined) throw error;
      const conflicts = error.conflicts.filter((conflict: Conflict) => !allowed.has(conflict.path));
      if (conflicts.length > 0) throw new ConflictsError(conflicts);
      return this.applyTracked(live, configuration, managed, { ...by, force: true });
    }
  }

  private allowedByLastApplied(live: KubeObject): FieldSet | undefined {
    const configuration = lastApplied(live);
    if (configuration === undefined) return undefined;
    try {
      return this.merge.ownedByLastApplied(configuration, live);
    } catch (error) {
      if (isStackOverflow(error)) throw error;
      // An annotation that does not match the type grants nothing.
      return undefined;
    }
  }

  /** Assigns the fields of an object without managers to `before-first-apply`, when it is applied to for the first time. */
  private trackBeforeFirstApply(live: KubeObject, managed: Managed): void {
    if (managed.fields.size > 0) return;
    const { unconvertible } = this.options;
    if (unconvertible !== undefined) {
      const what = `failed to convert live object (/; ${this.kind}) to proper version: ${unconvertible}`;
      throw new ApiError(500, '', `failed to create manager for existing fields: ${what}`);
    }
    try {
      this.track(this.empty, live, managed, 'before-first-apply');
    } catch (error) {
      if (error instanceof ConversionPending || isStackOverflow(error)) throw error;
      const why = messageOf(error);
      throw new ApiError(500, '', `failed to create manager for existing fields: ${why}`);
    }
  }

  private applyTracked(live: KubeObject, configuration: JsonObject, managed: Managed, by: Applier): KubeObject {
    const identifier = this.identify(managed, by.manager, 'Apply');
    const { object, managers } = this.merge.apply(live, configuration, managed.fields, identifier, by.force);
    keepSets(managed.fields, managers, identifier);
    managed.fields = managers;
    if (object === undefined) return deepCopy(live);
    managed.times.set(identifier, formatTime(this.options.clock.now()));
    return object;
  }

  /** Records an update by `manager`: adds the changed fields to its entry, and sets a new time if there are any. */
  private track(live: KubeObject, next: KubeObject, managed: Managed, manager: string): void {
    const identifier = this.identify(managed, manager, 'Update');
    const managers = this.merge.update(live, next, managed.fields, CURRENT_OPERATION);
    const own = managers.get(CURRENT_OPERATION);
    if (own !== undefined) {
      managers.delete(CURRENT_OPERATION);
      const rest = managers.get(identifier);
      managers.set(identifier, rest === undefined ? own : { ...own, set: own.set.union(rest.set) });
      managed.times.set(identifier, formatTime(this.options.clock.now()));
    }
    keepSets(managed.fields, managers, identifier);
    managed.fields = managers;
    capUpdateManagers(managed);
  }

  private identify(managed: Managed, manager: string, operation: 'Apply' | 'Update'): string {
    return managed.identify({
      manager: manager === '' ? 'unknown' : manager,
      operation,
      apiVersion: operation === 'Apply' ? '' : this.version,
      subresource: this.options.subresource,
    });
  }

  /**
   * Subresources always use the live entries. Otherwise the entries of the request are used, so that clients can edit
   * them. If these are missing or cannot be decoded, the live ones are used, so that clients that do not know
   * managedFields do not drop them.
   */
  private decodeLiveOrNext(live: KubeObject | undefined, next: KubeObject): Managed {
    const given = this.options.subresource === '' ? entriesOf(next) : undefined;
    if (given !== undefined && isReset(given)) return new Managed();
    const managed = given === undefined ? undefined : tryDecode(given);
    if (managed !== undefined && managed.fields.size > 0) return managed;
    return tryDecode(entriesOf(live)) ?? new Managed();
  }
}

function decodeLive(live: KubeObject | undefined): Managed {
  try {
    return Managed.decode(entriesOf(live) ?? []);
  } catch (error) {
    if (isStackOverflow(error)) throw error;
    throw new Error(`failed to decode managed fields: ${messageOf(error)}`);
  }
}

function tryDecode(entries: readonly JsonValue[] | undefined): Managed | undefined {
  try {
    return Managed.decode(entries ?? []);
  } catch (error) {
    if (isStackOverflow(error)) throw error;
    return undefined;
  }
}

/** Reuses the old set of a manager that writes the same fields again, so that its entry need not be rewritten. */
function keepSets(before: Managed['fields'], after: Managed['fields'], manager: string): void {
  const old = before.get(manager);
  const now = after.get(manager);
  if (old === undefined || now === undefined || old.set === now.set || !old.set.equals(now.set)) return;
  after.set(manager, { ...now, set: old.set });
}

function hasUid(live: KubeObject | undefined): boolean {
  const uid = live?.metadata.uid;
  return uid !== undefined && uid !== '';
}

function entriesOf(object: KubeObject | undefined): readonly JsonValue[] | undefined {
  const entries: JsonValue | undefined = object?.metadata.managedFields;
  return Array.isArray(entries) ? entries : undefined;
}

/**
 * Reports whether the list has a single empty entry. An empty list is not a reset, because clients that do not know
 * managedFields would clear them.
 */
function isReset(entries: readonly JsonValue[]): boolean {
  const [only] = entries;
  if (entries.length !== 1 || !isObject(only)) return false;
  return Object.values(only).every((value) => value === undefined || value === null || value === '');
}

function setManagedFields(object: KubeObject, entries: ManagedFieldsEntry[] | undefined): void {
  if (entries !== undefined) object.metadata.managedFields = entries;
  else delete object.metadata.managedFields;
}

/** Validates managedFields after mutating admission. Returns the error message, or undefined if they can be decoded. */
export function validateManagedFields(entries: readonly JsonValue[] | undefined): string | undefined {
  try {
    Managed.decode(entries ?? []);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
