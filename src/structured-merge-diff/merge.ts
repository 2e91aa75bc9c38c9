import { deepCopy, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import { asMap, fieldType, kindOf, member } from './schema/kinds.js';
import { isEmptyMap } from './value.js';
import { ItemNames } from './list-items.js';
import type { ListType, MapType, Type } from './schema/schema.js';

/**
 * Merges a configuration into a live value: values of the configuration win, nothing is removed. List items keep the
 * order of `live` unless the configuration orders them differently. The result shares nothing with the arguments.
 */
export function mergeValues(
  type: Type,
  live: JsonValue | undefined,
  config: JsonValue | undefined,
): JsonValue | undefined {
  if (live === undefined || config === undefined) return deepCopy(config ?? live);
  const kind = kindOf(type, config);
  if (kind === 'map' && type.map !== undefined) return mergeMaps(type.map, live, config);
  if (kind === 'list' && type.list !== undefined) return mergeLists(type.list, live, config);
  return deepCopy(config);
}

function mergeMaps(type: MapType, live: JsonValue, config: JsonValue): JsonValue {
  const old = nonEmptyMap(live);
  const now = nonEmptyMap(config);
  if (type.atomic || (old === undefined && now === undefined)) return deepCopy(config);
  const out: JsonObject = {};
  for (const key in old) {
    const merged = mergeMember(type, key, old[key], now === undefined ? undefined : member(now, key));
    if (merged !== undefined) out[key] = merged;
  }
  for (const key in now) {
    if (old !== undefined && member(old, key) !== undefined) continue;
    const added = deepCopy(now[key]);
    if (added !== undefined) out[key] = added;
  }
  return out;
}

function nonEmptyMap(value: JsonValue): JsonObject | undefined {
  const map = asMap(value);
  return map === undefined || isEmptyMap(map) ? undefined : map;
}

function mergeMember(
  type: MapType,
  key: string,
  old: JsonValue | undefined,
  now: JsonValue | undefined,
): JsonValue | undefined {
  if (now === undefined) return deepCopy(old);
  return old === undefined ? undefined : mergeValues(fieldType(type, key), old, now);
}

function mergeLists(type: ListType, live: JsonValue, config: JsonValue): JsonValue {
  const old = Array.isArray(live) ? live : [];
  const now = Array.isArray(config) ? config : [];
  if (type.atomic || (old.length === 0 && now.length === 0)) return deepCopy(config);
  return new ListMerge(type, old, now).run();
}

/** Merges two associative lists. */
class ListMerge {
  private readonly out: JsonValue[] = [];
  private readonly oldTexts: string[];
  private readonly nowTexts: string[];
  /** The items by name. An item that occurs several times is not merged: its value is null. */
  private readonly oldItems = new Map<string, JsonValue>();
  private readonly nowItems = new Map<string, JsonValue>();
  private readonly merged = new Set<string>();
  /** The items in both lists, in the order of the configuration; `nextShared` is the position of the next one. */
  private readonly shared: string[];
  private nextShared = 0;
  private oldAt = 0;
  private nowAt = 0;

  constructor(
    private readonly type: ListType,
    private readonly old: readonly JsonValue[],
    private readonly now: readonly JsonValue[],
  ) {
    const names = new ItemNames(type);
    this.oldTexts = old.map((item, i) => names.of(item, i));
    this.nowTexts = now.map((item, i) => names.of(item, i));
    old.forEach((item, i) => {
      const text = this.oldTexts[i] ?? '';
      this.oldItems.set(text, this.oldItems.has(text) ? null : item);
    });
    now.forEach((item, i) => this.nowItems.set(this.nowTexts[i] ?? '', item));
    this.shared = this.nowTexts.filter((text) => this.oldItems.has(text));
  }

  run(): JsonValue[] {
    while (this.oldAt < this.old.length || this.nowAt < this.now.length) {
      if (this.oldAt < this.old.length && this.nowAt < this.now.length && this.bothAt()) continue;
      if (this.oldAt < this.old.length && this.oldOnly()) continue;
      if (this.nowAt < this.now.length) this.takeNow();
    }
    return this.out;
  }

  /**
   * Merges items with the same name at both positions, or skips a shared item that comes later in the configuration.
   * Returns false if neither applies.
   */
  private bothAt(): boolean {
    const text = this.oldTexts[this.oldAt] ?? '';
    if (text === this.nowTexts[this.nowAt]) {
      this.push(text);
      this.oldAt++;
      this.nowAt++;
      this.nextShared++;
      return true;
    }
    const next = this.shared[this.nextShared];
    if (!this.nowItems.has(text) || next === undefined || next === text) return false;
    this.oldAt++;
    return true;
  }

  private oldOnly(): boolean {
    const text = this.oldTexts[this.oldAt] ?? '';
    if (!this.nowItems.has(text)) {
      this.out.push(deepCopy(this.old[this.oldAt] ?? null));
      this.oldAt++;
      return true;
    }
    if (this.merged.has(text)) this.oldAt++;
    return false;
  }

  private takeNow(): void {
    const text = this.nowTexts[this.nowAt] ?? '';
    this.push(text);
    this.nowAt++;
    if (this.shared[this.nextShared] === text) this.nextShared++;
  }

  private push(text: string): void {
    this.merged.add(text);
    const item = mergeValues(this.type.element, this.oldItems.get(text), this.nowItems.get(text));
    if (item !== undefined) this.out.push(item);
  }
}
