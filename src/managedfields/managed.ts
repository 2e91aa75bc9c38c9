import { isObject, type JsonValue } from '../apimachinery/json/json.js';
import { compareUtf8, formatTime, type ManagedFieldsEntry, quote } from '../apimachinery/meta/meta.js';
import { FieldSet } from '../structured-merge-diff/fieldpath/field-set.js';
import { toFieldsV1 } from '../structured-merge-diff/fieldpath/serialize.js';
import type { Managers, VersionedSet } from '../structured-merge-diff/updater.js';
import { decodeFieldSet } from './field-set-cache.js';

export interface ManagerInfo {
  readonly manager: string;
  readonly operation: string;
  /** Part of the identity of an updater. An applier is the same manager in every version. */
  readonly apiVersion: string;
  readonly subresource: string;
}

/** The entry that a manager was decoded from, which is reused if it is unchanged. */
interface Source {
  readonly entry: ManagedFieldsEntry;
  readonly owned: VersionedSet;
  readonly time: string;
}

/** The decoded managedFields of one object during a write. */
export class Managed {
  /** The owned fields by identifier. */
  fields: Managers = new Map();
  /** The times by identifier, RFC 3339 in UTC in whole seconds; absent if the entry has no time. */
  readonly times = new Map<string, string>();
  private readonly infos = new Map<string, ManagerInfo>();
  private readonly sources = new Map<string, Source>();

  /** Throws an Error that describes what is wrong with the entries. */
  static decode(entries: readonly JsonValue[]): Managed {
    const managed = new Managed();
    for (let i = 0; i < entries.length; i++) managed.read(entries[i], i);
    return managed;
  }

  /** Returns the identifier of a manager and registers it for encode(). */
  identify(info: ManagerInfo): string {
    const identifier = managerIdentifier(info);
    if (!this.infos.has(identifier)) this.infos.set(identifier, info);
    return identifier;
  }

  /** Registers an identifier from another object for encode(). */
  adopt(identifier: string): void {
    if (!this.infos.has(identifier)) this.infos.set(identifier, parseIdentifier(identifier));
  }

  /** Returns the sorted entries, or undefined if there are none. */
  encode(): ManagedFieldsEntry[] | undefined {
    if (this.fields.size === 0) return undefined;
    const entries: ManagedFieldsEntry[] = [];
    for (const [identifier, owned] of this.fields) entries.push(this.write(identifier, owned));
    return entries.length === 1 ? entries : entries.sort(compareEntries);
  }

  private read(value: JsonValue | undefined, position: number): void {
    if (!isObject(value)) throw new Error('a managed fields entry must be an object');
    const entry = value as ManagedFieldsEntry;
    const { operation, apiVersion, fieldsType, time } = entry;
    const fieldsV1: JsonValue | undefined = value['fieldsV1'];
    if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`');
    if (apiVersion === undefined || apiVersion === '') throw new Error('apiVersion must not be empty');
    if (fieldsType === undefined || fieldsType === '') {
      throw new Error(`missing fieldsType in managed fields entry ${String(position)}`);
    }
    if (fieldsType !== 'FieldsV1') {
      throw new Error(`invalid fieldsType ${quote(fieldsType)} in managed fields entry ${String(position)}`);
    }
    if (fieldsV1 !== undefined && fieldsV1 !== null && !isObject(fieldsV1))
      throw new Error('fieldsV1 must be an object');
    const applied = operation === 'Apply';
    const { manager = '', subresource = '' } = entry;
    const identifier = this.identify({ manager, operation, apiVersion: applied ? '' : apiVersion, subresource });
    const decoded = isObject(fieldsV1) ? decodeFieldSet(fieldsV1) : undefined;
    const owned = { set: decoded?.set ?? FieldSet.empty, apiVersion, applied };
    const at = time === undefined ? '' : normalizeTime(time);
    this.fields.set(identifier, owned);
    if (at === '') this.times.delete(identifier);
    else this.times.set(identifier, at);
    if (decoded?.canonical === true && at === (time ?? '') && isCanonical(entry)) {
      this.sources.set(identifier, { entry, owned, time: at });
    } else this.sources.delete(identifier);
  }

  private write(identifier: string, owned: VersionedSet): ManagedFieldsEntry {
    const time = this.times.get(identifier);
    const source = this.sources.get(identifier);
    const known = source?.owned.set === owned.set ? source : undefined;
    if (known?.owned.apiVersion === owned.apiVersion && known.time === (time ?? '')) return known.entry;
    const info = this.infos.get(identifier);
    const entry: ManagedFieldsEntry = {};
    if (info !== undefined && info.manager !== '') entry.manager = info.manager;
    entry.operation = owned.applied ? 'Apply' : 'Update';
    entry.apiVersion = owned.apiVersion;
    if (time !== undefined) entry.time = time;
    entry.fieldsType = 'FieldsV1';
    entry.fieldsV1 = known?.entry.fieldsV1 ?? toFieldsV1(owned.set);
    if (info !== undefined && info.subresource !== '') entry.subresource = info.subresource;
    return entry;
  }
}

/** Returns the same identifier for all entries of a manager. */
function managerIdentifier(info: ManagerInfo): string {
  let text = '{';
  if (info.manager !== '') text += `"manager":${JSON.stringify(info.manager)},`;
  text += `"operation":"${info.operation}"`;
  if (info.apiVersion !== '') text += `,"apiVersion":${JSON.stringify(info.apiVersion)}`;
  if (info.subresource !== '') text += `,"subresource":${JSON.stringify(info.subresource)}`;
  return `${text}}`;
}

/** Parses an identifier. */
export function parseIdentifier(identifier: string): ManagerInfo {
  const {
    manager = '',
    operation = '',
    apiVersion = '',
    subresource = '',
  } = JSON.parse(identifier) as Partial<ManagerInfo>;
  return { manager, operation, apiVersion, subresource };
}

const KNOWN = new Set(['manager', 'operation', 'apiVersion', 'time', 'fieldsType', 'fieldsV1', 'subresource']);

/** Reports whether the entry would be written exactly like this: known members, none of them empty. */
function isCanonical(entry: ManagedFieldsEntry): boolean {
  for (const key in entry) if (!KNOWN.has(key) || entry[key] === '') return false;
  return true;
}

const CANONICAL_TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;

/** Go's zero time. */
const ZERO_TIME = '0001-01-01T00:00:00Z';

/** Returns the time in UTC in whole seconds; '' for a JSON null or the zero time. */
function normalizeTime(time: unknown): string {
  if (time === null || time === ZERO_TIME) return '';
  if (typeof time !== 'string') throw new Error('the time of a managed fields entry must be a string');
  if (CANONICAL_TIME.test(time)) return time;
  const millis = Date.parse(time);
  if (Number.isNaN(millis)) throw new Error(`parsing time ${quote(time)}: invalid`);
  return formatTime(Math.floor(millis / 1000) * 1000);
}

const order = (a: string | undefined, b: string | undefined): number => (a === b ? 0 : compareUtf8(a ?? '', b ?? ''));

/** Sorts appliers before updaters, then by time, name, version and subresource. */
function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    order(a.operation, b.operation) ||
    order(a.time, b.time) ||
    order(a.manager, b.manager) ||
    order(a.apiVersion, b.apiVersion) ||
    order(a.subresource, b.subresource)
  );
}
