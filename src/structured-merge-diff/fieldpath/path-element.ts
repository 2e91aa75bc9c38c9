import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { parseWithFloats } from '../../apimachinery/json/decode.js';
import { compareUtf8 } from '../../apimachinery/meta/meta.js';
import { formatKeyValue } from './format.js';
import { compareValues, elementText } from '../value.js';

/** The kinds of path elements, in their sort order. */
const FIELD = 0;
const KEY = 1;
const VALUE = 2;
const INDEX = 3;

const NONE: readonly never[] = [];

/** Matches most keys: a single plain string or small integer, already in canonical form. */
const PLAIN_KEY = /^k:\{"([^"\\\x00-\x1f]*)":(?:"([^"\\<>&\u2028\u2029\x00-\x1f]*)"|(0|-?[1-9][0-9]{0,14}))\}$/;

/** One step of a path: a field of a map, or an item of a list by its keys, value or index. Immutable. */
export class PathElement {
  private constructor(
    private readonly kind: typeof FIELD | typeof KEY | typeof VALUE | typeof INDEX,
    /** The serialized form (`f:spec`, `k:{"name":"a"}`, `v:"a"`, `i:0`), which is canonical: equal elements have equal texts. */
    readonly text: string,
    /** The sorted names of the keys, or the name of the field. */
    private readonly names: readonly string[],
    private readonly values: readonly JsonValue[],
    /** True if parsed from the serialized form, whose numbers Kubernetes reads as float64: beyond 2^53 they lose digits. */
    private readonly parsed = false,
  ) {}

  static field(name: string): PathElement {
    return new PathElement(FIELD, `f:${name}`, [name], NONE);
  }

  /** Returns the element of an item with keys. `names` must be sorted. `text` is the serialized form, if the caller has it. */
  static keys(names: readonly string[], values: readonly JsonValue[], text = keysText(names, values)): PathElement {
    return new PathElement(KEY, text, names, values);
  }

  static value(value: JsonValue, text = `v:${elementText(value)}`): PathElement {
    return new PathElement(VALUE, text, NONE, [value]);
  }

  static index(index: number): PathElement {
    return new PathElement(INDEX, `i:${String(index)}`, NONE, [index]);
  }

  /** Parses the serialized form. Returns undefined for an unknown kind of element. Throws SyntaxError. */
  static parse(text: string): PathElement | undefined {
    if (text.length < 2) throw new SyntaxError('key must be 2 characters long:');
    if (text.charCodeAt(1) !== 58) throw new SyntaxError(`missing colon: ${text}`);
    const body = text.slice(2);
    switch (text.charAt(0)) {
      case 'f':
        return new PathElement(FIELD, text, [body], NONE);
      case 'v':
        return PathElement.parseValue(body);
      case 'k':
        return PathElement.plainKey(text) ?? PathElement.parseKeys(body);
      case 'i':
        if (!/^[+-]?[0-9]{1,15}$/.test(body)) throw new SyntaxError(`parsing ${JSON.stringify(body)}: invalid syntax`);
        return PathElement.index(Number(body));
      default:
        return undefined;
    }
  }

  private static parseValue(body: string): PathElement {
    const value = JSON.parse(body) as JsonValue;
    return new PathElement(VALUE, `v:${elementText(value)}`, NONE, [value], true);
  }

  private static plainKey(text: string): PathElement | undefined {
    const match = PLAIN_KEY.exec(text);
    if (match === null) return undefined;
    return new PathElement(KEY, text, [match[1] ?? ''], [match[2] ?? Number(match[3])], true);
  }

  private static parseKeys(body: string): PathElement {
    const parsed = parseWithFloats(body);
    if (!isObject(parsed)) throw new SyntaxError('expect { or n, but found something else');
    const names = sortedNames(parsed);
    const values = names.map((name) => parsed[name] ?? null);
    return new PathElement(KEY, keysText(names, values), names, values, true);
  }

  /** The name of the field; undefined for other kinds of elements. */
  get fieldName(): string | undefined {
    return this.kind === FIELD ? this.names[0] : undefined;
  }

  /** The names of the keys; undefined for other kinds of elements. */
  get keyNames(): readonly string[] | undefined {
    return this.kind === KEY ? this.names : undefined;
  }

  compare(other: PathElement): number {
    if (this === other || this.text === other.text) return 0;
    if (this.kind !== other.kind) return this.kind - other.kind;
    if (this.kind === FIELD) return compareUtf8(this.text, other.text);
    if (this.kind !== KEY) return compareValues(this.values[0] ?? null, other.values[0] ?? null);
    const length = Math.min(this.names.length, other.names.length);
    for (let i = 0; i < length; i++) {
      const byName = compareUtf8(this.names[i] ?? '', other.names[i] ?? '');
      if (byName !== 0) return byName;
      const byValue = compareValues(this.values[i] ?? null, other.values[i] ?? null);
      if (byValue !== 0) return byValue;
    }
    return this.names.length - other.names.length;
  }

  /** Reports whether an equal element writes its numbers in the same way. */
  hasSameText(other: PathElement): boolean {
    return this === other || this.kind === FIELD || this.text === other.text;
  }

  /** Formats the element for messages: `.spec`, `[name="a",port=80]`, `[="a"]`, `[0]`. */
  toString(): string {
    switch (this.kind) {
      case FIELD:
        return `.${this.names[0] ?? ''}`;
      case KEY:
        return `[${this.names.map((name, i) => `${name}=${formatKeyValue(this.values[i] ?? null, this.parsed)}`).join(',')}]`;
      case VALUE:
        return `[=${formatKeyValue(this.values[0] ?? null, this.parsed)}]`;
      case INDEX:
        return `[${this.text.slice(2)}]`;
    }
  }
}

function keysText(names: readonly string[], values: readonly JsonValue[]): string {
  return `k:{${names.map((name, i) => `${JSON.stringify(name)}:${elementText(values[i] ?? null)}`).join(',')}}`;
}

function sortedNames(fields: JsonObject): string[] {
  const names = Object.keys(fields);
  return names.length < 2 ? names : names.sort(compareUtf8);
}

/** Formats a path for messages: `.spec.containers[name="a"].image`. */
export function formatPath(path: readonly PathElement[]): string {
  return path.join('');
}
