import { ApiError, newBadRequest } from '../apimachinery/meta/errors.js';
import { deepCopy, isObject, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import {
  formatGroupVersion,
  formatGroupVersionKind,
  formatTime,
  type KubeObject,
  type ManagedFieldsEntry,
} from '../apimachinery/meta/meta.js';
import type { FieldSet } from '../structured-merge-diff/fieldpath/field-set.js';
import { type Conflict, ConflictsError } from '../structured-merge-diff/updater.js';
import { capUpdateManagers } from './cap.js';
import { conflictError } from './conflict.js';
import { FieldSetCache } from './field-set-cache.js';
import { type Applier, ConversionPending, type FieldManager, type FieldManagerOptions } from './interfaces.js';
import { KUBECTL, lastApplied, updateLastApplied } from './last-applied.js';
import { Managed } from './managed.js';
import { kindText, StructuredMerge, withoutManagedFields } from './structured-merge.js';
import { messageOf } from '../util/error-message.js';

/** Shared by all field managers: objects of all types go through one bound. */
export const fieldSets = new FieldSetCache();

/** See FieldManager: the managers of Kubernetes' default chain, in their order. */
export function createFieldManager(options: FieldManagerOptions): FieldManager {
  return new DefaultFieldManager(options);
}

/** The name under which an update works until it is known whether it changed anything. */
const SELF = 'current-operation';

class DefaultFieldManager implements FieldManager {
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

  update(live: KubeObject | undefined, next: KubeObject, manager: string): KubeObject {
    let entries: ManagedFieldsEntry[] | undefined;
    try {
      entries = this.updated(live, next, manager);
    } catch (error) {
      if (error instanceof ConversionPending) throw error;
      this.options.onError?.(error, next);
    }
    setManagedFields(next, entries);
    return next;
  }

  apply(live: KubeObject | undefined, configuration: JsonObject, by: Applier): KubeObject {
    try {
      return this.applied(live, configuration, by);
    } catch (error) {
      if (error instanceof ConflictsError) throw conflictError(error.conflicts);
      if (error instanceof ApiError || error instanceof ConversionPending) throw error;
      throw new ApiError(500, '', messageOf(error));
    }
  }

  private updated(live: KubeObject | undefined, next: KubeObject, manager: string): ManagedFieldsEntry[] | undefined {
    // Only subresources take it, whose strategy puts the kind right; nobody owns anything from then on.
    if (next.kind !== this.options.kind.kind || next.apiVersion !== this.version)
      throw new Error(`an object of another type: ${kindText(next)}`);
    const managed = this.decodeLiveOrNext(live, next);
    // Nobody was tracked from the object's creation on: tracking starts with the first apply.
    if (managed.fields.size === 0 && hasUid(live)) return undefined;
    const before = live === undefined ? this.empty : withoutManagedFields(live);
    this.track(before, withoutManagedFields(next), managed, manager);
    return managed.encode();
  }

  private applied(live: KubeObject | undefined, configuration: JsonObject, by: Applier): KubeObject {
    const managed = this.decode(entriesOf(live), 'failed to decode managed fields: ');
    const kind = kindText(configuration);
    if (kind !== this.kind) throw newBadRequest(`invalid object type: ${kind}`);
    const before = live === undefined ? this.empty : withoutManagedFields(live);
    const object = this.applyLastApplied(before, configuration, managed, by);
    // However the configuration writes it, as in `/v1`.
    object.apiVersion = this.version;
    // A configuration need not have metadata; what comes of it does.
    if (!isObject(object.metadata)) object.metadata = {};
    if (by.manager === KUBECTL) updateLastApplied(object, configuration);
    setManagedFields(object, managed.encode());
    return object;
  }

  /** kubectl takes over without conflict what its own client-side applies set and nobody changed. */
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
    } catch {
      // An annotation that does not fit the type gives no right to anything.
      return undefined;
    }
  }

  /** What an object holds that nobody was tracked for belongs to a manager of its own once it is applied to. */
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
      if (error instanceof ConversionPending) throw error;
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

  /** An update by `manager`: its entry gets what it changed, and a new time if that is anything. */
  private track(live: KubeObject, next: KubeObject, managed: Managed, manager: string): void {
    const identifier = this.identify(managed, manager, 'Update');
    const managers = this.merge.update(live, next, managed.fields, SELF);
    const own = managers.get(SELF);
    if (own !== undefined) {
      managers.delete(SELF);
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
   * Subresources go by the live entries, whatever the request says. Else the request's count, so that they can be edited; those
   * that are missing or cannot be read stand for the live ones, so that clients that do not know them do not drop them.
   */
  private decodeLiveOrNext(live: KubeObject | undefined, next: KubeObject): Managed {
    const given = this.options.subresource === '' ? entriesOf(next) : undefined;
    if (given !== undefined && isReset(given)) return new Managed();
    const managed = given === undefined ? undefined : this.tryDecode(given);
    if (managed !== undefined && managed.fields.size > 0) return managed;
    return this.tryDecode(entriesOf(live)) ?? new Managed();
  }

  private tryDecode(entries: readonly JsonValue[] | undefined): Managed | undefined {
    try {
      return this.decode(entries, '');
    } catch {
      return undefined;
    }
  }

  private decode(entries: readonly JsonValue[] | undefined, failure: string): Managed {
    if (entries === undefined) return new Managed();
    try {
      return Managed.decode(entries, fieldSets);
    } catch (error) {
      throw new Error(failure + messageOf(error));
    }
  }
}

/** A manager that writes the same fields again keeps its set, so that its entry need not be rewritten. */
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

/** A list of one empty entry. An empty list does not reset, lest clients that do not know managedFields clear them. */
function isReset(entries: readonly JsonValue[]): boolean {
  const [only] = entries;
  if (entries.length !== 1 || !isObject(only)) return false;
  return Object.values(only).every((value) => value === undefined || value === null || value === '');
}

function setManagedFields(object: KubeObject, entries: ManagedFieldsEntry[] | undefined): void {
  if (entries !== undefined) object.metadata.managedFields = entries;
  else delete object.metadata.managedFields;
}

/** What a mutating admission left as managedFields: the error that they are refused with, undefined if they can be read. */
export function validateManagedFields(entries: readonly JsonValue[] | undefined): string | undefined {
  try {
    Managed.decode(entries ?? [], fieldSets);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
