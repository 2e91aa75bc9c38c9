import { celEnv, type CelInput, celUint, isCelError, isCelList, isCelMap, isCelUint, parse, plan } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { CelList, CelMap, Double, Duration, Timestamp, Uint, type Value } from '../../packages/cel/src/index.js';

const environment = celEnv({ funcs: strings });
const NANOS = 1_000_000_000n;

/** Returns a value in a notation that is the same for both engines. */
export function notation(value: Value): string {
  if (typeof value === 'number' || typeof value === 'bigint') return `${value}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Double) return `double ${value.value}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (value instanceof CelList) return `[${Array.from(value, notation).join(', ')}]`;
  if (value instanceof CelMap) {
    return `{${value
      .keys()
      .map((key) => `${notation(key)}: ${notation(value.find(key) ?? null)}`)
      .sort()
      .join(', ')}}`;
  }
  if (value instanceof Timestamp) return `timestamp ${BigInt(value.seconds) * NANOS + BigInt(value.nanos)}`;
  if (value instanceof Duration) return `duration ${value.nanos}`;
  return 'other';
}

interface Moment {
  readonly $typeName: string;
  readonly seconds: bigint;
  readonly nanos: number;
}

const isMoment = (value: unknown): value is Moment =>
  typeof value === 'object' && value !== null && '$typeName' in value;

function theirs(value: unknown): string {
  if (typeof value === 'bigint') return `${value}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value === 'number') return `double ${value}`;
  if (isCelUint(value)) return `${value.value}u`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (isCelList(value)) return `[${Array.from(value, theirs).join(', ')}]`;
  if (isCelMap(value)) {
    return `{${Array.from(value, ([key, item]) => `${theirs(key)}: ${theirs(item)}`)
      .sort()
      .join(', ')}}`;
  }
  const message: unknown = typeof value === 'object' && 'message' in value ? value.message : value;
  if (!isMoment(message)) return 'other';
  const nanos = message.seconds * NANOS + BigInt(message.nanos);
  return message.$typeName.endsWith('Duration') ? `duration ${nanos}` : `timestamp ${nanos}`;
}

function input(value: Value): CelInput {
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value);
  if (value instanceof Uint) return celUint(value.value);
  if (value instanceof Double) return value.value;
  if (value instanceof CelList) return Array.from(value, input);
  if (value instanceof CelMap)
    return new Map(value.keys().map((key) => [key as string, input(value.find(key) ?? null)]));
  if (value instanceof Timestamp) return evaluated(`timestamp('${new Date(value.seconds * 1000).toISOString()}')`);
  if (value instanceof Duration) return evaluated(`duration('${value.nanos}ns')`);
  return value as string;
}

const evaluated = (source: string): CelInput => plan(environment, parse(source))() as CelInput;

/** Returns the result of the second engine: a value in the common notation, or `error`. */
export function secondOpinion(source: string, bindings: Readonly<Record<string, Value>>): string {
  const given = Object.fromEntries(Object.entries(bindings).map(([name, value]) => [name, input(value)]));
  try {
    const result = plan(environment, parse(source))(given);
    return isCelError(result) ? 'error' : theirs(result);
  } catch {
    return 'error';
  }
}
