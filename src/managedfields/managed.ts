import { isObject, type JsonValue } from '../apimachinery/json/json.js';
import { compareUtf8, formatTime, type ManagedFieldsEntry, quote } from '../apimachinery/meta/meta.js';
import { FieldSet } from '../structured-merge-diff/fieldpath/field-set.js';
import { toFieldsV1 } from '../structured-merge-diff/fieldpath/serialize.js';
import type { Managers, VersionedSet } from '../structured-merge-diff/updater.js';
import type { FieldSetCache } from './field-set-cache.js';

export interface ManagerInfo {
  readonly manager: string;
  readonly operation: string;
  /** Part of an updater's identity, not of an applier's, which is the same whatever version it speaks. */
  readonly apiVersion: string;
  readonly subresource: string;
}

/** The entry that a manager was read from, to be used again if it is unchanged. */
interface Source {
  readonly entry: ManagedFieldsEntry;
  readonly owned: VersionedSet;
  readonly time: string;
}

/** The managers of one object while it is written: decoded managedFields. */
export class Managed {
  /** By identifier. */
  fields: Managers = new Map();
  /** RFC 3339 in UTC, seconds; none: the entry has no time. */
  readonly times = new Map<string, string>();
  private readonly infos = new Map<string, ManagerInfo>();
  private readonly sources = new Map<string, Source>();

  /** Throws an Error that says what is wrong with the entries. */
  static decode(entries: readonly JsonValue[], cache: FieldSetCache): Managed {
    const managed = new Managed();
    for (let i = 0; i < entries.length; i++) managed.read(entries[i], i, cache);
    return managed;
  }

  /** The identifier of a manager, which encode() then knows. */
  identify(info: ManagerInfo): string {
    const identifier = managerIdentifier(info);
    if (!this.infos.has(identifier)) this.infos.set(identifier, info);
    return identifier;
  }

  /** Makes encode() know an identifier that came from elsewhere. */
  adopt(identifier: string): void {
    if (!this.infos.has(identifier)) this.infos.set(identifier, parseIdentifier(identifier));
  }

  /** The entries in their order; undefined: there are none. */
  encode(): ManagedFieldsEntry[] | undefined {
    if (this.fields.size === 0) return undefined;
    const entries: ManagedFieldsEntry[] = [];
    for (const [identifier, owned] of this.fields) entries.push(this.write(identifier, owned));
    return entries.length === 1 ? entries : entries.sort(compareEntries);
  }

  private read(value: JsonValue | undefined, position: number, cache: FieldSetCache): void {
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
    const decoded = isObject(fieldsV1) ? cache.decode(fieldsV1) : undefined;
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

/** Equal for entries of the same manager. */
function managerIdentifier(info: ManagerInfo): string {
  let text = '{';
  if (info.manager !== '') text += `"manager":${JSON.stringify(info.manager)},`;
  text += `"operation":"${info.operation}"`;
  if (info.apiVersion !== '') text += `,"apiVersion":${JSON.stringify(info.apiVersion)}`;
  if (info.subresource !== '') text += `,"subresource":${JSON.stringify(info.subresource)}`;
  return `${text}}`;
}

/** Reads an identifier back. */
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

/** Whether the entry would be written as it is: known members, none of them empty. */
function isCanonical(entry: ManagedFieldsEntry): boolean {
  for (const key in entry) if (!KNOWN.has(key) || entry[key] === '') return false;
  return true;
}

const CANONICAL_TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;

/** Go's time of nothing. */
const ZERO_TIME = '0001-01-01T00:00:00Z';

/** In UTC, whole seconds. A JSON null is not a time. */
function normalizeTime(time: unknown): string {
  if (time === null || time === ZERO_TIME) return '';
  if (typeof time !== 'string') throw new Error('the time of a managed fields entry must be a string');
  if (CANONICAL_TIME.test(time)) return time;
  const millis = Date.parse(time);
  if (Number.isNaN(millis)) throw new Error(`parsing time ${quote(time)}: invalid`);
  return formatTime(Math.floor(millis / 1000) * 1000);
}

const order = (a: string | undefined, b: string | undefined): number => (a === b ? 0 : compareUtf8(a ?? '', b ?? ''));

/** Appliers before updaters, then by time, name, version and subresource. */
function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    order(a.operation, b.operation) ||
    order(a.time, b.time) ||
    order(a.manager, b.manager) ||
    order(a.apiVersion, b.apiVersion) ||
    order(a.subresource, b.subresource)
  );
}
