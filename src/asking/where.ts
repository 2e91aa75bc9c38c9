import { createHash } from 'node:crypto';
import type { Value } from '@annex/cel';
import { newBadRequest } from '../apimachinery/meta/errors.js';
import type { CachedObject, Condition } from '../storage/cacher/interfaces.js';
import { Expression } from './expression.js';
import type { AskedKind } from './object-type.js';

/** The condition of the parameter `where`. */
export class Where implements Condition {
  readonly id: string | undefined;

  constructor(
    private readonly expression: Expression,
    private readonly now: Value,
    id: string,
  ) {
    // At another time it means something else.
    this.id = expression.usesNow ? undefined : id;
  }

  matches(object: CachedObject): boolean | undefined {
    const { value, error } = { value: undefined, ...this.expression.on(object, this.now) };
    return error === undefined && typeof value === 'boolean' ? value : undefined;
  }

  /** Returns why the condition failed on an object. */
  failureOn(object: CachedObject): string {
    return this.expression.on(object, this.now).error ?? 'it no longer fails';
  }
}

/** Compiles the parameter. `now` is the time of a list; a watch has none. */
export function compileWhere(source: string, served: AskedKind, now: Value | undefined): Where {
  const expression = Expression.compile('where', source, served, now !== undefined);
  const { kind } = expression.outputType;
  if (kind !== 'bool') throw newBadRequest(`where: must evaluate to bool but got ${expression.outputType.declared()}`);
  return new Where(expression, now ?? null, idOf('where', source, served));
}

/** Returns a short id of an expression over objects of a version. */
export const idOf = (parameter: string, source: string, { id }: AskedKind): string =>
  `${parameter} ${id} ${createHash('sha256').update(source).digest('base64url')}`;
