import { decodeBase64 } from '../../go/base64.js';
import { MAX_INT64 } from '../../go/int64.js';
import { type DetailedJson, parsePlainJson } from '../json/decode.js';
import { convertNumber } from '../json/parser.js';
import { JsonError, MAX_DEPTH } from '../json/syntax.js';
import { formatFloat } from '../json/go-format.js';
import type { JsonObject, JsonValue } from '../json/json.js';
import { compareUtf8, quote } from '../meta/meta.js';
import { type AliasNode, readYamlDocument, type ScalarNode, type YamlNode } from './nodes.js';
import { readYamlText } from './reader.js';
import { isIntegerText, type Resolved, resolvePlain } from './resolve.js';

export { toYaml } from './emitter.js';

/** Between these numbers of nodes, an ever smaller share of them may come from aliases (the limits of Go's decoder). */
const ALIAS_RANGE_LOW = 400_000;
const ALIAS_RANGE_HIGH = 4_000_000;

const TAG_PREFIX = 'tag:yaml.org,2002:';

function allowedAliasRatio(nodes: number): number {
  if (nodes <= ALIAS_RANGE_LOW) return 0.99;
  if (nodes >= ALIAS_RANGE_HIGH) return 0.1;
  return 0.99 - (0.89 * (nodes - ALIAS_RANGE_LOW)) / (ALIAS_RANGE_HIGH - ALIAS_RANGE_LOW);
}

/** Converts the nodes of one document to JSON, by the rules of YAML 1.1 as Kubernetes reads it. */
class Converter {
  readonly duplicates: string[] = [];
  /** Those of the duplicates that stand twice in one map, without a merge. */
  readonly repeated: string[] = [];
  private nodes = 0;
  private aliased = 0;
  private aliasDepth = 0;
  private depth = 0;
  private readonly open = new Set<YamlNode>();

  node(node: YamlNode): JsonValue {
    this.count();
    switch (node.kind) {
      case 'scalar':
        return toJson(this.resolve(node), node.value);
      case 'alias':
        return this.alias(node, (target) => this.node(target));
      case 'sequence':
        return this.deeper(() => node.items.map((item) => this.node(item)));
      case 'mapping':
        return this.deeper(() => this.map(node.items));
    }
  }

  private count(): void {
    this.nodes++;
    if (this.aliasDepth > 0) this.aliased++;
    if (this.aliased > 100 && this.nodes > 1000 && this.aliased / this.nodes > allowedAliasRatio(this.nodes)) {
      throw new JsonError('yaml: document contains excessive aliasing');
    }
  }

  private deeper<T>(run: () => T): T {
    if (++this.depth > MAX_DEPTH) throw new JsonError(`yaml: exceeded max depth of ${MAX_DEPTH}`);
    try {
      return run();
    } finally {
      this.depth--;
    }
  }

  private alias<T>({ name, target }: AliasNode, run: (target: YamlNode) => T): T {
    if (this.open.has(target)) throw new JsonError(`yaml: anchor '${name}' value contains itself`);
    this.open.add(target);
    this.aliasDepth++;
    try {
      return run(target);
    } finally {
      this.aliasDepth--;
      this.open.delete(target);
    }
  }

  private resolve({ value, plain, tag }: ScalarNode): Resolved {
    const short = tag.startsWith(TAG_PREFIX) ? tag.slice(TAG_PREFIX.length) : '';
    if (tag === '') return plain ? resolvePlain(value) : value;
    switch (short) {
      case 'binary':
        return binaryText(value);
      case 'bool':
      case 'int':
      case 'float':
      case 'null':
        return this.tagged(short, value);
      default:
        return value;
    }
  }

  private tagged(tag: 'bool' | 'int' | 'float' | 'null', text: string): Resolved {
    const value = resolvePlain(text);
    const kind = kindOf(value, text);
    if (kind === tag || (tag === 'float' && kind === 'int')) return value;
    throw new JsonError(`yaml: cannot decode !!${kind} \`${text}\` as a !!${tag}`);
  }

  private map(items: readonly YamlNode[]): JsonObject {
    const out: JsonObject = {};
    this.fill(out, new Map(), items, false);
    return out;
  }

  /** `seen` has the keys so far, and whether each came from a merge. */
  private fill(out: JsonObject, seen: Map<string, boolean>, items: readonly YamlNode[], merged: boolean): void {
    for (let i = 0; i + 1 < items.length; i += 2) {
      const key = items[i] as YamlNode;
      const value = items[i + 1] as YamlNode;
      if (isMergeKey(key)) {
        this.merge(out, seen, value);
        continue;
      }
      const [name, kind] = this.key(key, value);
      const member = this.node(value);
      // Keys of different kinds are different keys, and become one only in JSON.
      const known = `${kind} ${name}`;
      // Errors inside the value come first.
      const before = seen.get(known);
      if (before !== undefined) this.duplicate(value, kind === 'str' ? quote(name) : name, merged || before);
      seen.set(known, merged);
      out[name] = member;
    }
  }

  /** Merges maps as if their keys were in the map itself, at the position of the merge: later keys win, and of several maps the first. */
  private merge(out: JsonObject, seen: Map<string, boolean>, value: YamlNode): void {
    this.count();
    const each = value.kind === 'sequence' ? [...value.items].reverse() : [value];
    for (const source of each) {
      this.count();
      const add = (map: YamlNode): void => {
        if (map.kind !== 'mapping') {
          throw new JsonError('yaml: map merge requires map or sequence of maps as the value');
        }
        this.deeper(() => this.fill(out, seen, map.items, true));
      };
      if (source.kind === 'alias') this.alias(source, add);
      else add(source);
    }
  }

  /** Records a duplicate key. The line is that of the value, which may begin below its key. */
  private duplicate({ line }: YamlNode, key: string, merged: boolean): void {
    const text = `line ${line + 1}: key ${key} already set in map`;
    this.duplicates.push(text);
    if (!merged) this.repeated.push(text);
  }

  /** Returns the name of a key in JSON, and its kind in YAML. */
  private key(key: YamlNode, member: YamlNode): readonly [name: string, kind: string] {
    if (key.kind === 'alias') return this.alias(key, (target) => this.key(target, member));
    if (key.kind !== 'scalar') throw invalidKey(this.node(key));
    const value = this.resolve(key);
    if (typeof value === 'string') return [value, 'str'];
    if (value === null) {
      const shown = goSyntax(this.node(member));
      throw new JsonError(`unsupported map key of type: %!s(<nil>), key: <nil>, value: ${shown}`);
    }
    const kind = kindOf(value, key.value);
    if (kind === 'float') return [floatKey(Number(value)), kind];
    if (typeof value === 'bigint' && value > MAX_INT64) {
      const shown = goSyntax(this.node(member));
      throw new JsonError(`unsupported map key of type: uint64, key: 0x${value.toString(16)}, value: ${shown}`);
    }
    return [String(value), kind];
  }
}

function floatKey(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  const single = Math.fround(value);
  return Number.isFinite(single) ? formatFloat(single) : single > 0 ? '.inf' : '-.inf';
}

const invalidKey = (value: JsonValue): JsonError => new JsonError(`yaml: invalid map key: ${goSyntax(value)}`);

/** Formats a value as Go's `%#v` does. */
function goSyntax(value: JsonValue): string {
  if (value === null) return '<nil>';
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntaxWithin).join(', ')}}`;
  const keys = Object.keys(value).sort(compareUtf8);
  const members = keys.map((key) => `${quote(key)}:${goSyntaxWithin(value[key] ?? null)}`);
  return `map[interface {}]interface {}{${members.join(', ')}}`;
}

const goSyntaxWithin = (value: JsonValue): string => (value === null ? 'interface {}(nil)' : goSyntax(value));

function binaryText(text: string): string {
  const decoded = decodeBase64(text);
  if (decoded === undefined) throw new JsonError('yaml: !!binary value contains invalid base64 data');
  return decoded.toString('utf8');
}

const isMergeKey = (key: YamlNode): boolean =>
  key.kind === 'scalar' && key.value === '<<' && (key.plain || key.tag === `${TAG_PREFIX}merge`);

/** Returns the kind of a value. A float may have a whole value, so the kind of a number depends on its `text`. */
function kindOf(value: Resolved, text: string): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return isIntegerText(text) ? 'int' : 'float';
  return 'str';
}

/** Converts a value to JSON. A number is printed and parsed again on the way: `1e18` is printed as an integer, and so becomes one. */
function toJson(value: Resolved, text: string): JsonValue {
  if (typeof value === 'bigint') return convertNumber(value.toString());
  if (typeof value === 'number' && !Number.isFinite(value)) {
    const name = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
    throw new JsonError(`json: unsupported value: ${name}`);
  }
  if (typeof value === 'number' && (Object.is(value, -0) || (Number.isInteger(value) && !Number.isSafeInteger(value))))
    return convertNumber(String(value));
  return typeof value === 'string' && value === '' ? text : value;
}

/**
 * Converts the first document of a YAML text to JSON. Throws JsonError with the message of Go's decoder, and a Status if reading
 * it would take too much memory. `duplicates` has at most one text, which names every duplicate key; it is not a path, and is
 * reported verbatim. `repeated` is the same without the keys that override those of a merge (`<<`), or are overridden by one.
 */
export function parseYaml(input: Uint8Array | string): {
  readonly value: JsonValue;
  readonly duplicates: readonly string[];
  readonly repeated: readonly string[];
} {
  const plain = parsePlainJson(input);
  if (plain !== undefined) return { value: plain, duplicates: [], repeated: [] };
  const root = readYamlDocument(readYamlText(input));
  if (root === undefined) return { value: null, duplicates: [], repeated: [] };
  const converter = new Converter();
  const value = converter.node(root);
  return { value, duplicates: asErrors(converter.duplicates), repeated: asErrors(converter.repeated) };
}

const asErrors = (lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${lines.join('\n  ')}`];

/** Sorts keys. On its way to the decoder YAML becomes JSON with sorted keys, which determines the order of errors. */
function withSortedKeys(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withSortedKeys);
  const out: JsonObject = {};
  for (const key of Object.keys(value).sort(compareUtf8)) out[key] = withSortedKeys(value[key] ?? null);
  return out;
}

/** Decodes YAML as decodeDetailed does JSON. Duplicate keys are reported by line, not by path. */
export function decodeYaml(input: Uint8Array | string, strict: boolean): DetailedJson {
  const { value: parsed, duplicates } = parseYaml(input);
  const value = withSortedKeys(parsed);
  return strict && duplicates.length > 0
    ? { value, duplicates: [], sourceErrors: duplicates }
    : { value, duplicates: [] };
}
