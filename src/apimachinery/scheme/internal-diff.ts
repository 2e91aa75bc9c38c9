import { unifiedDiff } from '../../util/text/unified-diff.js';
import { readDataFile } from './data-files.js';
import { isObject, type JsonObject, type JsonValue, stringifyJson } from '../json/json.js';
import { compareUtf8, goJson } from '../meta/meta.js';
import { emptyMembersOf } from './empty-members.js';

/** A type as `data/types/internal.json` describes it. */
interface Shape {
  readonly k: 'struct' | 'map' | 'slice' | 'ptr' | 'string' | 'bool' | 'number' | 'custom';
  readonly e?: number;
  readonly z?: JsonValue;
  readonly f?: readonly Field[];
}

interface Field {
  readonly n: string;
  readonly p: readonly string[];
  readonly t: number;
  readonly o?: boolean;
}

interface Shapes {
  readonly shapes: readonly Shape[];
  readonly roots: Readonly<Record<string, number>>;
}

export type InternalType =
  | 'PodSpec'
  | 'PersistentVolumeSource'
  | 'PersistentVolumeClaim'
  | 'PersistentVolumeClaimSpec'
  | 'CertificateSigningRequestConditions';

let loaded: Shapes | undefined;

const shapes = (): Shapes => (loaded ??= readDataFile('types', 'internal.json') as unknown as Shapes);

/**
 * Returns the difference between two values of a v1 type as kube-apiserver reports it in rejected updates: a unified diff of the
 * indented JSON of the unversioned type, whose members have other names and are all shown.
 */
export function internalDiff(type: InternalType, before: JsonValue | undefined, after: JsonValue | undefined): string {
  return unifiedDiff(internalLines(type, before), internalLines(type, after));
}

/** Returns the lines of the indented JSON. */
function internalLines(type: InternalType, value: JsonValue | undefined): string[] {
  const root = shapes().roots[type];
  const lines = new Lines();
  if (root !== undefined) lines.write(root, value, '', '', '');
  return lines.lines;
}

/** Returns the JSON of a member of an unversioned type, found by its Go names. kube-apiserver prints it for an invalid struct. */
export function internalJson(type: InternalType, names: readonly string[], value: JsonValue | undefined): string {
  const { shapes: all, roots } = shapes();
  let index = roots[type] ?? 0;
  for (const name of names) {
    while (all[index]?.k !== 'struct') index = all[index]?.e ?? 0;
    const field = all[index]?.f?.find(({ n }) => n === name);
    if (field === undefined) throw new Error(`data/types/internal.json: no ${name} in ${type}`);
    index = field.t;
  }
  // The value may be an element of the list, or the target of the pointer.
  const holds = ['slice', 'ptr'].includes(all[index]?.k ?? '') && !Array.isArray(value) && isObject(value);
  const lines = new Lines();
  lines.write(holds ? (all[index]?.e ?? 0) : index, value, '', '', '');
  return stringifyJson(JSON.parse(lines.lines.join('\n')) as JsonValue);
}

class Lines {
  readonly lines: string[] = [];

  /** Writes a value. `start` precedes it in its line, and `end` follows it. */
  write(index: number, value: JsonValue | undefined, indent: string, start: string, end: string): void {
    const shape = shapes().shapes[index];
    if (shape === undefined) throw new Error(`data/types/internal.json: no shape ${index}`);
    const { k: kind, e: elem = 0, f: fields = [], z: zero = null } = shape;
    const given = value ?? undefined;
    switch (kind) {
      case 'struct':
        this.struct(fields, isObject(given) ? given : {}, indent, start, end);
        return;
      case 'ptr':
        if (given === undefined) this.lines.push(`${indent}${start}null${end}`);
        else this.write(elem, given, indent, start, end);
        return;
      case 'map': {
        if (!isObject(given)) {
          this.lines.push(`${indent}${start}null${end}`);
          return;
        }
        const names = Object.keys(given).sort(compareUtf8);
        const write = (name: string, comma: string): void =>
          this.write(elem, given[name], `${indent} `, `${goJson(name)}: `, comma);
        this.members(names, '{}', write, indent, start, end);
        return;
      }
      case 'slice': {
        if (!Array.isArray(given)) {
          this.lines.push(`${indent}${start}null${end}`);
          return;
        }
        const write = (item: JsonValue, comma: string): void => this.write(elem, item, `${indent} `, '', comma);
        this.members(given, '[]', write, indent, start, end);
        return;
      }
      case 'custom':
        this.lines.push(`${indent}${start}${goJson(given ?? zero)}${end}`);
        return;
      default: {
        const none = { string: '', bool: false, number: 0 }[kind];
        this.lines.push(`${indent}${start}${goJson(given ?? none)}${end}`);
      }
    }
  }

  private struct(fields: readonly Field[], value: JsonObject, indent: string, start: string, end: string): void {
    const shown: (readonly [Field, JsonValue | undefined])[] = [];
    for (const field of fields) {
      let member: JsonValue | undefined = value;
      for (const name of field.p)
        member = isObject(member) ? (member[name] ?? emptyMembersOf(member)?.[name]) : undefined;
      if (field.o !== true || !isEmpty(member)) shown.push([field, member]);
    }
    const write = ([field, member]: readonly [Field, JsonValue | undefined], comma: string): void =>
      this.write(field.t, member, `${indent} `, `"${field.n}": `, comma);
    this.members(shown, '{}', write, indent, start, end);
  }

  private members<T>(
    members: readonly T[],
    brackets: string,
    write: (member: T, comma: string) => void,
    indent: string,
    start: string,
    end: string,
  ): void {
    if (members.length === 0) {
      this.lines.push(`${indent}${start}${brackets}${end}`);
      return;
    }
    this.lines.push(`${indent}${start}${brackets.charAt(0)}`);
    members.forEach((member, i) => write(member, i === members.length - 1 ? '' : ','));
    this.lines.push(`${indent}${brackets.charAt(1)}${end}`);
  }
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}
