import { JsonError } from '../apimachinery/json/syntax.js';
import { ApiError, newBadRequest } from '../apimachinery/meta/errors.js';
import { isObject, type JsonObject, type JsonValue, objectAt, stringAt, textAt } from '../apimachinery/json/json.js';
import {
  formatGroupVersion,
  formatGroupVersionKind,
  type KubeObject,
  parseGroupVersion,
} from '../apimachinery/meta/meta.js';
import { conversionError } from '../apimachinery/scheme/convert.js';
import { goType } from '../apimachinery/scheme/types.js';
import { FieldSet } from '../structured-merge-diff/fieldpath/field-set.js';
import { PathElement } from '../structured-merge-diff/fieldpath/path-element.js';
import type { Type } from '../structured-merge-diff/schema/schema.js';
import { type Managers, type TypedValue, Updater } from '../structured-merge-diff/updater.js';
import { type ListItems, validateValue } from '../structured-merge-diff/validate.js';
import { messageOf } from '../util/error-message.js';
import { isStackOverflow } from '../util/stack-overflow.js';
import { ConversionPending, type FieldManagerOptions, MissingVersionError } from './interfaces.js';

const pathSet = (paths: readonly (readonly string[])[]): FieldSet =>
  FieldSet.ofPaths(paths.map((path) => path.map((name) => PathElement.field(name))));

/** Fields that no manager owns, because the server sets them or they identify the object. */
const STRIPPED = pathSet([
  ['apiVersion'],
  ['kind'],
  ['metadata'],
  ['metadata', 'name'],
  ['metadata', 'namespace'],
  ['metadata', 'creationTimestamp'],
  ['metadata', 'selfLink'],
  ['metadata', 'uid'],
  ['metadata', 'clusterName'],
  ['metadata', 'generation'],
  ['metadata', 'managedFields'],
  ['metadata', 'resourceVersion'],
]);

/** Applies the updater for typed values to the objects of one version. Objects are passed without managedFields. */
export class StructuredMerge {
  private readonly updater: Updater;
  private readonly version: string;
  private readonly ignored = new Map<string, FieldSet | undefined>();

  constructor(private readonly options: FieldManagerOptions) {
    this.version = formatGroupVersion(options.kind);
    this.updater = new Updater(
      (value, version, failure) => this.convert(value, version, failure),
      (version) => this.reset(version),
    );
  }

  update(live: JsonObject, next: JsonObject, managers: Managers, manager: string): Managers {
    const after = this.typed(next, 'duplicates allowed', 'failed to convert new object', ' to smd typed');
    const before = this.typed(live, 'duplicates allowed', 'failed to convert live object', ' to smd typed', next);
    const updated = this.updater.update(before, after, managers, manager);
    strip(updated, manager);
    return updated;
  }

  /** `object` is undefined if nothing changes. */
  apply(
    live: JsonObject,
    configuration: JsonObject,
    managers: Managers,
    manager: string,
    force: boolean,
  ): { object: KubeObject | undefined; managers: Managers } {
    const given = objectAt(configuration, 'metadata')?.['managedFields'];
    if (Array.isArray(given) && areEntries(given)) throw newBadRequest('metadata.managedFields must be nil');
    const config = this.typed(configuration, 'unique', 'failed to create typed patch object');
    const before = this.typed(live, 'duplicates allowed', 'failed to create typed live object');
    const applied = this.updater.apply(before, config, managers, manager, force);
    strip(applied.managers, manager);
    if (applied.value === undefined) return { object: undefined, managers: applied.managers };
    const { unconvertible } = this.options;
    if (unconvertible !== undefined) throw notConverted(configuration, unconvertible);
    const { value } = applied.value;
    if (!isObject(value)) throw new Error('failed to convert new typed object to object');
    // The merged value shares nothing with the arguments, but the result of a conversion may share parts of its input.
    const object = value as KubeObject;
    try {
      this.options.applyDefaults?.(object, textAt(objectAt(live, 'metadata'), 'uid') === '');
    } catch (error) {
      throw error instanceof JsonError ? notConverted(configuration, error.message) : error;
    }
    return { object, managers: applied.managers };
  }

  /** Returns the fields that the client-side apply of `lastApplied` owns: those that still have the applied value. undefined if unknown. */
  ownedByLastApplied(lastApplied: JsonObject, live: JsonObject): FieldSet | undefined {
    if (lastApplied['apiVersion'] !== this.version || lastApplied['kind'] !== this.options.kind.kind) return undefined;
    const type = this.type();
    validateValue(type, live, 'unique');
    validateValue(type, lastApplied, 'unique');
    return this.updater.unchanged(type, lastApplied, live);
  }

  private type(): Type {
    const type = this.options.typeOf(this.version);
    if (type === undefined) throw new Error(`no corresponding type for ${formatGroupVersionKind(this.options.kind)}`);
    return type;
  }

  /** Validates the object, except for members that it shares with `valid`, which has been validated before. */
  private typed(object: JsonObject, items: ListItems, failure: string, to = '', valid?: JsonObject): TypedValue {
    try {
      const type = this.type();
      validateValue(type, valid === undefined ? object : withoutShared(object, valid), items);
      return { version: this.version, type, value: object };
    } catch (error) {
      if (isStackOverflow(error)) throw error;
      const why = messageOf(error);
      throw new ApiError(500, '', `${failure} (${describe(object)})${to}: ${why}`);
    }
  }

  private convert(typed: TypedValue, version: string, failure: string): TypedValue | undefined {
    if (typed.version === version) return typed;
    if (parseGroupVersion(version) === undefined) throw new Error(`unexpected GroupVersion string: ${version}`);
    const { converter } = this.options;
    if (converter === undefined || !isObject(typed.value)) return undefined;
    try {
      const value = converter.convert(typed.value as KubeObject, version);
      const type = this.options.typeOf(version);
      if (type === undefined) return undefined;
      validateValue(type, value, 'unique');
      return { version, type, value };
    } catch (error) {
      if (error instanceof MissingVersionError) return undefined;
      if (error instanceof ConversionPending || isStackOverflow(error)) throw error;
      throw new Error(`${failure}${messageOf(error)}`);
    }
  }

  private reset(version: string): FieldSet | undefined {
    if (this.ignored.has(version)) return this.ignored.get(version);
    const paths = [...(this.options.resetFields?.['*'] ?? []), ...(this.options.resetFields?.[version] ?? [])];
    const set = paths.length === 0 ? undefined : pathSet(paths);
    // Versions come from stored entries, so the cache must be bounded.
    if (this.ignored.size < 64) this.ignored.set(version, set);
    return set;
  }
}

/** Reports whether a list can be decoded as managedFields. Any other list counts as absent. */
function areEntries(list: readonly JsonValue[]): boolean {
  const metadata = goType({ group: '', version: 'v1', kind: 'ConfigMap' })?.fields.get('metadata')?.type;
  const entry = metadata?.fields.get('managedFields')?.type.elem;
  return list.every((one) => isObject(one) && (entry === undefined || conversionError(entry, one) === undefined));
}

function withoutShared(object: JsonObject, other: JsonObject): JsonObject {
  const own: JsonObject = {};
  for (const key in object) if (object[key] !== other[key]) own[key] = object[key];
  return own;
}

function strip(managers: Managers, manager: string): void {
  const owned = managers.get(manager);
  if (owned === undefined) return;
  const set = owned.set.difference(STRIPPED);
  if (set.isEmpty) managers.delete(manager);
  else if (set !== owned.set) managers.set(manager, { ...owned, set });
}

const notConverted = (configuration: JsonObject, why: string): ApiError =>
  new ApiError(500, '', `failed to convert new object (${describe(configuration)}) to proper version: ${why}`);

/** Formats an object for messages: `namespace/name; group/version, Kind=Kind`. */
function describe(object: JsonObject): string {
  const meta = objectAt(object, 'metadata');
  return `${stringAt(meta, 'namespace') ?? ''}/${stringAt(meta, 'name') ?? ''}; ${kindText(object)}`;
}

/** Returns the apiVersion and kind of an object for messages. */
export function kindText(object: JsonObject): string {
  const gv = parseGroupVersion(stringAt(object, 'apiVersion') ?? '');
  if (gv === undefined) return formatGroupVersionKind({ group: '', version: '', kind: '' });
  return formatGroupVersionKind({ kind: stringAt(object, 'kind') ?? '', ...gv });
}

/** Returns the object without metadata.managedFields; shares everything else with it. */
export function withoutManagedFields(object: KubeObject): KubeObject {
  const meta = objectAt(object, 'metadata');
  if (meta?.['managedFields'] === undefined) return object;
  const metadata: KubeObject['metadata'] = { ...meta };
  delete metadata.managedFields;
  return { ...object, metadata };
}
