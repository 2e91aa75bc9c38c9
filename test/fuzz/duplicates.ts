import fc from 'fast-check';
import { isObject, type JsonValue } from '../../src/apimachinery/json/json.js';
import type { FuzzRequest } from './client.js';
import { type Kind, objectOf } from './fixtures.js';
import { utf8 } from './mutations.js';
import { collection, pick } from './parts.js';

const VALUES: readonly JsonValue[] = ['x', 1, null, {}, [], { a: 'b' }, ['x'], true];

interface Twice {
  /** The index of the member, in the order of printing. */
  readonly at: number;
  readonly key: 'same' | 'unknown' | 'cased';
  /** Undefined repeats the existing value. */
  readonly value: JsonValue | undefined;
}

const twice: fc.Arbitrary<Twice> = fc.record({
  at: fc.nat(30),
  key: pick(['same', 'same', 'same', 'unknown', 'cased']),
  value: fc.oneof(fc.constant(undefined), pick(VALUES)),
});

/** Prints a value, with some members repeated right after the first. */
class Printer {
  private count = 0;

  constructor(private readonly doubled: readonly Twice[]) {}

  print(value: JsonValue, yaml: boolean, indent = ''): string {
    if (Array.isArray(value)) {
      if (!yaml || value.length === 0) return `[${value.map((one) => this.print(one, false)).join(',')}]`;
      return value.map((one) => `\n${indent}- ${this.print(one, false)}`).join('');
    }
    if (!isObject(value)) return JSON.stringify(value);
    const members = Object.entries(value).flatMap(([key, member]) => this.member(key, member ?? null, yaml, indent));
    if (!yaml || members.length === 0) return `{${members.join(',')}}`;
    return members.map((one) => `\n${indent}${one}`).join('');
  }

  private member(key: string, value: JsonValue, yaml: boolean, indent: string): string[] {
    const at = this.count++;
    const pair = (name: string, one: JsonValue): string =>
      yaml ? `${name}: ${this.print(one, true, `${indent}  `)}` : `${JSON.stringify(name)}:${this.print(one, false)}`;
    const printed = [pair(key, value)];
    for (const { at: wanted, key: how, value: other } of this.doubled) {
      if (wanted !== at) continue;
      const name = how === 'same' ? key : how === 'unknown' ? `un${key}` : key.toUpperCase();
      printed.push(pair(name, other === undefined ? value : other));
    }
    return printed;
  }
}

/** Writes whose bodies contain a duplicate field, an unknown field, or a field in another case. */
export function duplicates(kinds: readonly Kind[]): fc.Arbitrary<FuzzRequest> {
  const how = pick([
    ['POST', 'application/json'],
    ['POST', 'application/yaml'],
    ['PUT', 'application/json'],
    ['PUT', 'application/yaml'],
    ['PATCH', 'application/merge-patch+json'],
    ['PATCH', 'application/strategic-merge-patch+json'],
    ['PATCH', 'application/apply-patch+yaml'],
  ] as const);
  return fc
    .tuple(
      pick(kinds),
      how,
      fc.array(twice, { minLength: 1, maxLength: 4 }),
      pick(['Strict', 'Strict', 'Warn', 'Ignore', '']),
    )
    .map(([kind, [method, type], doubled, validation]) => {
      const name = method === 'POST' ? 'new3' : 'w4';
      const yaml = type === 'application/yaml' || type === 'application/apply-patch+yaml';
      const path = method === 'POST' ? collection(kind) : `${collection(kind)}/${name}`;
      const parameters = [
        'dryRun=All',
        ...(validation === '' ? [] : [`fieldValidation=${validation}`]),
        ...(type.includes('apply') ? ['fieldManager=m', 'force=true'] : []),
      ];
      return {
        method,
        path: `${path}?${parameters.join('&')}`,
        headers: { 'content-type': type },
        body: utf8(new Printer(doubled).print(objectOf(kind, name), yaml).replace(/^\n/, '')),
      };
    });
}
