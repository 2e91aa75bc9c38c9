import { Optional, type Type, type Value } from '@annex/cel';
import { newBadRequest } from '../apimachinery/meta/errors.js';
import type { CachedObject, Ordering } from '../storage/cacher/interfaces.js';
import { Expression } from './expression.js';
import type { AskedKind } from './object-type.js';
import { sortKey } from './sort-key.js';
import { splitKeys } from './split-keys.js';
import { idOf } from './where.js';

const MAX_KEYS = 8;

const ORDERED = new Set(['bool', 'int', 'uint', 'double', 'string', 'timestamp', 'duration', 'dyn']);

interface OrderKey {
  readonly expression: Expression;
  readonly descending: boolean;
}

/** The order of the parameter `orderBy`. */
class OrderBy implements Ordering {
  readonly id: string | undefined;

  constructor(
    private readonly keys: readonly OrderKey[],
    private readonly now: Value,
    id: string,
  ) {
    this.id = keys.some(({ expression }) => expression.usesNow) ? undefined : id;
  }

  keyOf(object: CachedObject): Uint8Array {
    const keys = this.keys.map(({ expression, descending }) => sortKey(this.valueOf(expression, object), descending));
    return keys.length === 1 ? (keys[0] as Uint8Array) : Buffer.concat(keys);
  }

  private valueOf(expression: Expression, object: CachedObject): Value | undefined {
    const evaluation = expression.on(object, this.now);
    if (evaluation.error !== undefined) return undefined;
    return evaluation.value instanceof Optional ? evaluation.value.value : evaluation.value;
  }
}

/** Compiles the parameter. */
export function compileOrderBy(source: string, served: AskedKind, now: Value): Ordering {
  const texts = splitKeys(source);
  if (texts.length > MAX_KEYS)
    throw newBadRequest(`orderBy: has ${String(texts.length)} keys, but may have at most ${String(MAX_KEYS)}`);
  const keys = texts.map(({ text, descending }, i): OrderKey => {
    const parameter = texts.length === 1 ? 'orderBy' : `orderBy: key ${String(i + 1)}`;
    if (text === '') throw newBadRequest(`${parameter}: is empty`);
    const expression = Expression.compile(parameter, text, served, true);
    const { outputType } = expression;
    if (!hasOrder(outputType))
      throw newBadRequest(
        `${parameter}: must evaluate to bool, int, uint, double, string, timestamp, duration or quantity but got ${outputType.declared()}`,
      );
    return { expression, descending };
  });
  return new OrderBy(keys, now, idOf('order', source, served));
}

function hasOrder(type: Type): boolean {
  const inner = type.kind === 'opaque' && type.name === 'optional_type' ? type.elem : type;
  return ORDERED.has(inner.kind) || inner.name === 'kubernetes.Quantity';
}
