import type { Program, Type, Value } from '@annex/cel';
import { newBadRequest } from '../apimachinery/meta/errors.js';
import type { JsonObject } from '../apimachinery/json/json.js';
import { compileExpression } from '../expressions/expression.js';
import { PER_CALL_LIMIT } from '../expressions/limits.js';
import type { CachedObject } from '../storage/cacher/interfaces.js';
import { StorageError } from '../storage/errors.js';
import { isStackOverflow } from '../util/stack-overflow.js';
import { isShownAsStored, UNCHECKED } from '../storage/record.js';
import { type FieldTree, fieldsOf } from './field-paths.js';
import { scanFields } from './scan.js';
import { type AskedKind, ObjectType } from './object-type.js';

/** The maximum length of an expression, in bytes. */
const MAX_BYTES = 64 << 10;

/** The result of an expression on an object, or the error that it ends with. */
export type Evaluation = { readonly value: Value; readonly error?: undefined } | { readonly error: string };

/** An expression over the objects of one version of a kind. */
export class Expression {
  private readonly fields: FieldTree | undefined;

  private constructor(
    private readonly served: AskedKind,
    private readonly type: ObjectType,
    private readonly program: Program,
  ) {
    this.fields = fieldsOf(program.expr);
  }

  /**
   * Compiles the value of a parameter, or a part of it. Throws a 400 with the line and the column if it does not compile.
   * `mayUseNow`: the request has a time that stays the same for all that it shows.
   */
  static compile(parameter: string, source: string, served: AskedKind, mayUseNow: boolean): Expression {
    const expression = Expression.read(source, served, mayUseNow);
    if (typeof expression === 'string') throw newBadRequest(`${parameter}: ${expression}`);
    return expression;
  }

  /** Compiles an expression. Returns why it does not compile, with the line and the column. */
  static read(source: string, served: AskedKind, mayUseNow: boolean): Expression | string {
    if (Buffer.byteLength(source) > MAX_BYTES) return `an expression may have at most ${String(MAX_BYTES)} bytes`;
    const type = ObjectType.of(served);
    const { program, checked, error = '' } = compileExpression(mayUseNow ? type.withNow : type.environment, source);
    if (program === undefined) {
      const usesNow = !mayUseNow && checked === undefined && type.withNow.compile(source).failure === undefined;
      const hint = usesNow ? NO_NOW : error.includes("undeclared reference to 'self'") ? NO_SELF : '';
      return `${error}${hint}`;
    }
    return new Expression(served, type, program);
  }

  get outputType(): Type {
    return this.program.outputType;
  }

  get usesNow(): boolean {
    return this.program.variables.has('now');
  }

  /** Evaluates the expression. Throws only StorageError, if the object cannot be read. */
  on(object: CachedObject, now: Value): Evaluation {
    try {
      const outcome = this.program.evaluate({ object: this.type.adapt(this.shown(object)), now }, PER_CALL_LIMIT);
      return outcome.kind === 'value' ? { value: outcome.value } : { error: outcome.message };
    } catch (error) {
      if (isStackOverflow(error)) return { error: 'the object is nested too deeply' };
      if (error instanceof StorageError) throw error;
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Returns the object as the version shows it, or the part of it that the expression reads. */
  private shown(object: CachedObject): JsonObject {
    if (!isShownAsStored(object, this.served.json)) return this.served.toObject(object);
    const { fields } = this;
    if (fields === undefined || (object.flags & UNCHECKED) !== 0) return object.decode();
    const read = (bytes: Uint8Array): JsonObject | undefined => scanFields(bytes, fields);
    return (object.withBytes === undefined ? read(object.bytes) : object.withBytes(read)) ?? object.decode();
  }
}

const NO_NOW = '\nhint: a watch has no time that could be `now`; leave the time out, or list';
const NO_SELF = '\nhint: the object is called `object` here';
