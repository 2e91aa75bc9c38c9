import { isObject, type JsonObject, type JsonValue, stringAt } from '../../apimachinery/json/json.js';
import { type Notes, Refusal } from './conversion.js';
import { convertCustomResource } from './definitions/custom-resource.js';
import { type Definitions, preferredVersion } from './definitions/definitions.js';
import { lifecycleOf, minorOf } from './lifecycles.js';
import { conversionOf, deadOf } from './table.js';

export interface ConversionTarget {
  /** The version to convert to, if one was requested. */
  readonly outputVersion: string | undefined;
  readonly definitions: Definitions;
}

const isList = (value: JsonObject, kind: string): boolean =>
  kind.endsWith('List') && (Array.isArray(value['items']) || value['items'] === null);

/** Converts the object of a document, or those of a list, in place. Returns true if anything changed. Throws a Refusal. */
export function convertValue(value: JsonValue, wanted: ConversionTarget, notes: Notes): boolean {
  if (!isObject(value)) return false;
  const { apiVersion, kind } = value;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return false;
  if (!isList(value, kind)) return convertObject(value, apiVersion, kind, wanted, notes);
  return kind === 'List'
    ? convertItems(value, wanted, notes)
    : convertTypedList(value, apiVersion, kind, wanted, notes);
}

function convertItems(list: JsonObject, wanted: ConversionTarget, notes: Notes): boolean {
  let changed = false;
  forItems(list, notes, (item, itemNotes) => {
    changed = convertValue(item, wanted, itemNotes) || changed;
  });
  return changed;
}

/** The items of a typed list may lack apiVersion and kind. */
function convertTypedList(
  list: JsonObject,
  apiVersion: string,
  kind: string,
  wanted: ConversionTarget,
  notes: Notes,
): boolean {
  const itemKind = kind.slice(0, -'List'.length);
  const target = { apiVersion, changed: false };
  const probe = (item: JsonObject, itemNotes: Notes): boolean => {
    const bare = item['apiVersion'] === undefined && item['kind'] === undefined;
    if (bare) Object.assign(item, { apiVersion, kind: itemKind });
    const changed = convertValue(item, wanted, itemNotes);
    if (changed) target.apiVersion = stringAt(item, 'apiVersion') ?? apiVersion;
    if (bare) for (const key of ['apiVersion', 'kind']) Reflect.deleteProperty(item, key);
    return changed;
  };
  forItems(list, notes, (item, itemNotes) => {
    target.changed = probe(item, itemNotes) || target.changed;
  });
  if (!target.changed && Array.isArray(list['items']) && list['items'].length === 0) {
    const row = conversionOf(apiVersion, itemKind);
    if (row !== undefined && row.onRequest !== true && fits(row.to, wanted)) {
      target.apiVersion = row.to;
      target.changed = true;
    }
  }
  list['apiVersion'] = target.apiVersion;
  return target.changed;
}

function forItems(list: JsonObject, notes: Notes, run: (item: JsonObject, notes: Notes) => void): void {
  const items = list['items'];
  if (!Array.isArray(items)) return;
  items.forEach((item, i) => {
    if (!isObject(item)) return;
    const prefix = `items[${String(i)}]: `;
    try {
      run(item, {
        warn: (text) => notes.warn(prefix + text),
        lose: (text) => notes.lose(prefix + text),
      });
    } catch (error) {
      if (error instanceof Refusal && !error.message.startsWith('items[')) throw new Refusal(prefix + error.message);
      throw error;
    }
  });
}

const fits = (to: string, { outputVersion }: ConversionTarget): boolean =>
  outputVersion === undefined || outputVersion === to;

function convertObject(
  object: JsonObject,
  apiVersion: string,
  kind: string,
  wanted: ConversionTarget,
  notes: Notes,
): boolean {
  const row = conversionOf(apiVersion, kind);
  if (row !== undefined) {
    if (!fits(row.to, wanted) || (row.onRequest === true && wanted.outputVersion === undefined)) return false;
    row.convert?.(object, notes, apiVersion);
    object['apiVersion'] = row.to;
    return true;
  }
  const dead = deadOf(apiVersion, kind);
  if (dead !== undefined) {
    if (wanted.outputVersion !== undefined) return false;
    throw new Refusal(dead.reason);
  }
  return convertCustom(object, apiVersion, kind, wanted, notes) || refuseRemoved(apiVersion, kind, wanted);
}

function convertCustom(
  object: JsonObject,
  apiVersion: string,
  kind: string,
  wanted: ConversionTarget,
  notes: Notes,
): boolean {
  const slash = apiVersion.indexOf('/');
  const group = apiVersion.slice(0, slash);
  const type = slash < 0 ? undefined : wanted.definitions.get(group, kind);
  if (type === undefined) return false;
  const current = apiVersion.slice(slash + 1);
  const { outputVersion } = wanted;
  if (outputVersion === undefined) {
    const known = type.versions.find(({ name }) => name === current);
    if (known?.served === true && !known.deprecated) return false;
    const target = preferredVersion(type);
    if (target === undefined)
      throw new Refusal(`the definition of ${kind}.${group} serves no version that is not deprecated`);
    convertCustomResource(object, type, target, notes);
    return true;
  }
  if (outputVersion === apiVersion || outputVersion.slice(0, outputVersion.indexOf('/')) !== group) return false;
  const target = type.versions.find(({ name }) => `${group}/${name}` === outputVersion);
  if (target?.served !== true) throw new Refusal(`the definition of ${kind}.${group} does not serve ${outputVersion}`);
  convertCustomResource(object, type, target, notes);
  return true;
}

/** A removed version without a conversion must not be mistaken for one that needs none. */
function refuseRemoved(apiVersion: string, kind: string, { outputVersion }: ConversionTarget): false {
  const removed = lifecycleOf(apiVersion, kind)?.removed;
  if (removed !== undefined && (minorOf(removed) ?? 0) <= CURRENT && outputVersion === undefined)
    throw new Refusal(`Kubernetes ${removed} removed it, and there is no conversion for it`);
  return false;
}

/** The minor version of the Kubernetes release whose versions are the targets of conversions. */
export const CURRENT = 37;
