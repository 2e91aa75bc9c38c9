import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { compareUtf8 } from '../../apimachinery/meta/meta.js';
import { formatKeyValue } from './format.js';
import { compareValues, elementText } from '../value.js';

/** In the order of path elements. */
const FIELD = 0;
const KEY = 1;
const VALUE = 2;
const INDEX = 3;

const NONE: readonly never[] = [];

/** Most keys by far: one, a plain string or a small integer, already in canonical form. */
const PLAIN_KEY = /^k:\{"([^"\\\x00-\x1f]*)":(?:"([^"\\<>&\u2028\u2029\x00-\x1f]*)"|(0|-?[1-9][0-9]{0,14}))\}$/;

/** One step of a path: a field of a map, an item of a list by its keys, by its value or by its index. Immutable. */
export class PathElement {
  private constructor(
    private readonly kind: typeof FIELD | typeof KEY | typeof VALUE | typeof INDEX,
    /** The serialized form (`f:spec`, `k:{"name":"a"}`, `v:"a"`, `i:0`), canonical: equal elements have equal texts. */
    readonly text: string,
    /** Names of the keys, sorted; or the field's name. */
    private readonly names: readonly string[],
    private readonly values: readonly JsonValue[],
    /** Serialized numbers are float64, for they are read as such in Kubernetes: beyond 2^53 they lose digits. */
    private readonly parsed = false,
  ) {}

  static field(name: string): PathElement {
    return new PathElement(FIELD, `f:${name}`, [name], NONE);
  }

  /** An item by its keys; `names` are sorted. `text` is the serialized form, where the caller has it. */
  static keys(names: readonly string[], values: readonly JsonValue[], text = keysText(names, values)): PathElement {
    return new PathElement(KEY, text, names, values);
  }

  static value(value: JsonValue, text = `v:${elementText(value)}`): PathElement {
    return new PathElement(VALUE, text, NONE, [value]);
  }

  static index(index: number): PathElement {
    return new PathElement(INDEX, `i:${String(index)}`, NONE, [index]);
  }

  /** Reads the serialized form. Undefined: a kind of element that is not known. Throws SyntaxError. */
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
    const parsed = JSON.parse(body) as JsonValue;
    if (!isObject(parsed)) throw new SyntaxError('expect { or n, but found something else');
    const names = sortedNames(parsed);
    const values = names.map((name) => parsed[name] ?? null);
    return new PathElement(KEY, keysText(names, values), names, values, true);
  }

  /** The field's name; undefined: the element is of another kind. */
  get fieldName(): string | undefined {
    return this.kind === FIELD ? this.names[0] : undefined;
  }

  /** The names of the keys; undefined: the element is of another kind. */
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

  /** Whether an equal element writes its numbers alike. */
  isWrittenLike(other: PathElement): boolean {
    return this === other || this.kind === FIELD || this.text === other.text;
  }

  /** As messages show it: `.spec`, `[name="a",port=80]`, `[="a"]`, `[0]`. */
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

/** The path as messages show it: `.spec.containers[name="a"].image`. */
export function formatPath(path: readonly PathElement[]): string {
  return path.join('');
}
