import { Composer, type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Scalar } from 'yaml';
import { type DetailedJson, parsePlainJson } from './decode-json.js';
import { convertNumber } from './json-parser.js';
import { JsonError, MAX_DEPTH } from './json-syntax.js';
import type { JsonObject, JsonValue } from './json.js';
import { compareUtf8, quote } from './meta.js';
import { checkFlowDepth } from './yaml-depth.js';
import { mistakeAtBeginning, yamlErrorText } from './yaml-errors.js';
import { formatG } from './yaml-emitter.js';
import { readYamlText } from './yaml-reader.js';
import { yamlTokens } from './yaml-tokens.js';
import { isIntegerText, type Resolved, resolvePlain } from './yaml-resolve.js';

export { toYaml } from './yaml-emitter.js';

/** Beyond so many nodes, ever less of them may come from aliases (the bounds of Go's decoder). */
const ALIAS_RANGE_LOW = 400_000;
const ALIAS_RANGE_HIGH = 4_000_000;

const TAG_PREFIX = 'tag:yaml.org,2002:';

function allowedAliasRatio(nodes: number): number {
  if (nodes <= ALIAS_RANGE_LOW) return 0.99;
  if (nodes >= ALIAS_RANGE_HIGH) return 0.1;
  return 0.99 - (0.89 * (nodes - ALIAS_RANGE_LOW)) / (ALIAS_RANGE_HIGH - ALIAS_RANGE_LOW);
}

/** Turns the nodes of one document into JSON, with the rules of YAML 1.1 as Kubernetes reads it. */
class Converter {
  readonly duplicates: string[] = [];
  private nodes = 0;
  private aliased = 0;
  private aliasDepth = 0;
  private depth = 0;
  private readonly open = new Set<unknown>();

  constructor(
    private readonly document: Document.Parsed,
    private readonly lines: LineCounter,
    private readonly text: string,
  ) {}

  node(node: unknown): JsonValue {
    this.count();
    if (isScalar(node)) {
      const text = this.textOf(node);
      return toJson(this.resolve(text, isPlainStyle(node.type), node.tag), text);
    }
    if (isAlias(node)) return this.alias(node, (target) => this.node(target));
    return this.deeper(() => {
      if (isSeq(node)) return node.items.map((item) => this.node(item));
      if (isMap(node)) return this.map(node.items);
      return null;
    });
  }

  private count(): void {
    this.nodes++;
    if (this.aliasDepth > 0) this.aliased++;
    if (this.aliased > 100 && this.nodes > 1000 && this.aliased / this.nodes > allowedAliasRatio(this.nodes)) {
      throw new JsonError('yaml: document contains excessive aliasing');
    }
  }

  private deeper<T>(run: () => T): T {
    if (++this.depth > MAX_DEPTH) throw new JsonError(`yaml: exceeded max depth of ${String(MAX_DEPTH)}`);
    try {
      return run();
    } finally {
      this.depth--;
    }
  }

  private alias<T>(node: { source: string; resolve(doc: Document): unknown }, run: (target: unknown) => T): T {
    const target = node.resolve(this.document);
    if (target === undefined) throw new JsonError(`yaml: unknown anchor '${node.source}' referenced`);
    if (this.open.has(target)) throw new JsonError(`yaml: anchor '${node.source}' value contains itself`);
    this.open.add(target);
    this.aliasDepth++;
    try {
      return run(target);
    } finally {
      this.aliasDepth--;
      this.open.delete(target);
    }
  }

  private textOf(node: Scalar): string {
    if (node.type === 'QUOTE_DOUBLE') this.checkEscapes(node.range);
    return typeof node.value === 'string' ? node.value : (node.source ?? '');
  }

  /** Refuses escapes that only newer versions of YAML have, and those of halves of characters. */
  private checkEscapes(range: readonly number[] | null | undefined): void {
    const [start = 0, end = 0] = range ?? [];
    const written = this.text.slice(start, end);
    if (!written.includes('\\')) return;
    for (const { 0: escape, index } of written.matchAll(/\\(?:[uU][dD][89a-fA-F]|U0000[dD][89a-fA-F]|[^])/g)) {
      if (escape !== '\\/' && escape.length === 2) continue;
      const what = escape === '\\/' ? 'unknown escape character' : 'invalid Unicode character escape code';
      const { line } = this.lines.linePos(start + index);
      throw new JsonError(`yaml: ${line === 1 ? '' : `line ${String(line)}: `}found ${what}`);
    }
  }

  private resolve(text: string, plain: boolean, tag: string | undefined): Resolved {
    const short = tag?.startsWith(TAG_PREFIX) === true ? tag.slice(TAG_PREFIX.length) : tag;
    if (short === undefined || short === '') return plain ? resolvePlain(text) : text;
    switch (short) {
      case 'str':
        return text;
      case 'binary':
        return binaryText(text);
      case 'bool':
      case 'int':
      case 'float':
      case 'null':
        return this.tagged(short, text);
      default:
        return text;
    }
  }

  private tagged(tag: 'bool' | 'int' | 'float' | 'null', text: string): Resolved {
    const value = resolvePlain(text);
    const kind = kindOf(value, text);
    if (kind === tag || (tag === 'float' && kind === 'int')) return value;
    throw new JsonError(`yaml: cannot decode !!${kind} \`${text}\` as a !!${tag}`);
  }

  private map(items: readonly { key: unknown; value: unknown }[]): JsonObject {
    const out: JsonObject = {};
    this.fill(out, new Set(), items);
    return out;
  }

  private fill(out: JsonObject, seen: Set<string>, items: readonly { key: unknown; value: unknown }[]): void {
    for (const { key, value } of items) {
      if (isMergeKey(key)) {
        this.merge(out, seen, value);
        continue;
      }
      const [name, kind] = this.key(key, value);
      const member = this.node(value);
      // Keys of several kinds are several keys, and become one only in JSON.
      const known = `${kind} ${name}`;
      // What is wrong inside of the value comes first.
      if (seen.has(known)) this.duplicate(key, value, name);
      seen.add(known);
      out[name] = member;
    }
  }

  /** As if the keys stood in the map itself, where the merge stands: what comes later wins, and of several maps the first. */
  private merge(out: JsonObject, seen: Set<string>, value: unknown): void {
    this.count();
    const each = isSeq(value) ? [...value.items].reverse() : [value];
    for (const source of each) {
      this.count();
      const add = (map: unknown): void => {
        if (!isMap(map)) throw new JsonError('yaml: map merge requires map or sequence of maps as the value');
        this.deeper(() => {
          this.fill(out, seen, map.items);
        });
      };
      if (isAlias(source)) this.alias(source, add);
      else add(source);
    }
  }

  /** The line is that of the value, which may begin below its key. */
  private duplicate(key: unknown, value: unknown, name: string): void {
    const line = this.lines.linePos(startOf(value) ?? startOf(key) ?? 0).line;
    const text = typeof this.keyValue(key) === 'string' ? quote(name) : name;
    this.duplicates.push(`line ${String(line)}: key ${text} already set in map`);
  }

  private keyValue(key: unknown): JsonValue {
    if (isAlias(key)) return this.node(key);
    if (!isScalar(key)) throw invalidKey(this.node(key));
    return this.resolve(this.textOf(key), isPlainStyle(key.type), key.tag);
  }

  /** The name in JSON, and the kind of the key in YAML. */
  private key(key: unknown, member: unknown): readonly [name: string, kind: string] {
    const value = this.keyValue(key);
    if (typeof value === 'string') return [value, 'str'];
    if (value === null) {
      const shown = goSyntax(this.node(member));
      throw new JsonError(`unsupported map key of type: %!s(<nil>), key: <nil>, value: ${shown}`);
    }
    if (typeof value === 'object') throw invalidKey(value);
    const kind = kindOf(value, isScalar(key) ? this.textOf(key) : '');
    if (kind === 'float') return [floatKey(Number(value)), kind];
    if (typeof value === 'bigint' && value > MAX_INT64) {
      const shown = goSyntax(this.node(member));
      throw new JsonError(`unsupported map key of type: uint64, key: 0x${value.toString(16)}, value: ${shown}`);
    }
    return [String(value), kind];
  }
}

const MAX_INT64 = 0x7fffffffffffffffn;

function floatKey(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  const single = Math.fround(value);
  if (Object.is(single, -0)) return '-0';
  return Number.isFinite(single) ? formatG(single) : single > 0 ? '.inf' : '-.inf';
}

const isPlainStyle = (style: string | undefined): boolean => style === 'PLAIN' || style === undefined;

/** Where a node begins: a map with its first key, a list with its first dash. */
function startOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined;
}

const invalidKey = (value: JsonValue): JsonError => new JsonError(`yaml: invalid map key: ${goSyntax(value)}`);

/** A value as Go's `%#v` prints it. */
function goSyntax(value: JsonValue): string {
  if (value === null) return '<nil>';
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntaxWithin).join(', ')}}`;
  const members = Object.keys(value).map((key) => `${quote(key)}:${goSyntaxWithin(value[key] ?? null)}`);
  return `map[interface {}]interface {}{${members.join(', ')}}`;
}

const goSyntaxWithin = (value: JsonValue): string => (value === null ? 'interface {}(nil)' : goSyntax(value));

function binaryText(text: string): string {
  const packed = text.replace(/[\r\n]/g, '');
  if (packed.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(packed)) {
    throw new JsonError('yaml: !!binary value contains invalid base64 data');
  }
  return Buffer.from(packed, 'base64').toString('utf8');
}

const isMergeKey = (key: unknown): boolean =>
  isScalar(key) && key.value === '<<' && (key.type === 'PLAIN' || key.type === undefined) && key.tag === undefined;

/** A whole number may be written as one that is not: `text` is what stands there. */
function kindOf(value: Resolved, text: string): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return isIntegerText(text) ? 'int' : 'float';
  return 'str';
}

/** On its way to JSON a number is printed and read again. */
function toJson(value: Resolved, text: string): JsonValue {
  if (typeof value === 'bigint') return convertNumber(value.toString());
  if (typeof value === 'number' && !Number.isFinite(value)) {
    const name = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
    throw new JsonError(`json: unsupported value: ${name}`);
  }
  return typeof value === 'string' && value === '' ? text : value;
}

const OPTIONS = {
  schema: 'failsafe',
  version: '1.1',
  uniqueKeys: false,
  keepSourceTokens: false,
  prettyErrors: false,
  stringKeys: false,
  logLevel: 'silent',
} as const;

/**
 * The first document of a YAML text as JSON. Throws JsonError with the text of Go's decoder, and a Status where reading it would take too
 * much memory. `duplicates` holds at most one
 * text, which names every duplicate key; it is no path, and is reported as it is.
 */
export function parseYaml(input: Uint8Array | string): {
  readonly value: JsonValue;
  readonly duplicates: readonly string[];
} {
  const plain = parsePlainJson(input);
  if (plain !== undefined) return { value: plain, duplicates: [] };
  const text = readYamlText(input);
  const beginning = mistakeAtBeginning(text);
  if (beginning !== undefined) throw new JsonError(beginning);
  checkFlowDepth(text);
  const lines = new LineCounter();
  const composer = new Composer({ ...OPTIONS, lineCounter: lines });
  const { value: first } = composer.compose(yamlTokens(text, lines.addNewLine)).next();
  if (first === undefined) return { value: null, duplicates: [] };
  const error = first.errors[0] ?? first.warnings.find(({ code }) => code === 'BAD_DIRECTIVE');
  if (error !== undefined) throw new JsonError(yamlErrorText(error, text, lines));
  const converter = new Converter(first, lines, text);
  const value = converter.node(first.contents);
  const { duplicates } = converter;
  return {
    value,
    duplicates: duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`],
  };
}

/** On its way to the decoder YAML becomes JSON text with sorted keys, which is the order of what is found wrong. */
function withSortedKeys(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withSortedKeys);
  const out: JsonObject = {};
  for (const key of Object.keys(value).sort(compareUtf8)) out[key] = withSortedKeys(value[key] ?? null);
  return out;
}

/** As decodeDetailed does for JSON. YAML's duplicates are found by line, not by path. */
export function decodeYaml(input: Uint8Array | string, strict: boolean): DetailedJson {
  const { value: parsed, duplicates } = parseYaml(input);
  const value = withSortedKeys(parsed);
  return strict && duplicates.length > 0
    ? { value, duplicates: [], sourceErrors: duplicates }
    : { value, duplicates: [] };
}
