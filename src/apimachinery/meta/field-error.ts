import { aggregateMessages } from '../../util/error-message.js';
import { goFormat } from '../json/go-format.js';
import { Float, type JsonValue } from '../json/json.js';
import { goJson, quote } from './meta.js';

/** The types of validation errors, which are the cause types of a Status. */
export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTooFew'
  | 'FieldValueTooShort'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

const TITLES: Record<FieldErrorType, string> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTooFew: 'Too few',
  FieldValueTooShort: 'Too short',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
};

/** Types whose message never shows the value. */
const VALUELESS = new Set<FieldErrorType>([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'FieldValueTooShort',
  'InternalError',
]);

/** One invalid field, printed as kube-apiserver prints it (apimachinery, util/validation/field). */
export class FieldError {
  constructor(
    readonly type: FieldErrorType,
    readonly field: string,
    /** Undefined prints as `null`; `OMIT` omits the value; `Printed` is printed verbatim. */
    readonly badValue: JsonValue | undefined | Printed | typeof OMIT,
    readonly detail: string,
  ) {}

  /** The message without the field's name. */
  get body(): string {
    let text = TITLES[this.type];
    if (!VALUELESS.has(this.type) && this.badValue !== OMIT) text += `: ${formatValue(this.badValue)}`;
    return this.detail === '' ? text : `${text}: ${this.detail}`;
  }

  toString(): string {
    return `${this.field}: ${this.body}`;
  }
}

/** The text that Go prints for a value, if that is not the JSON of its sorted members; used for structs, for example. */
export class Printed {
  constructor(readonly text: string) {}
}

export const OMIT = Symbol('omit the value');

function formatValue(value: JsonValue | undefined | Printed): string {
  if (value instanceof Printed) return value.text;
  if (typeof value === 'string') return quote(value);
  return typeof value === 'number' || value instanceof Float ? goFormat(value) : goJson(value);
}

/** The path to a field: `spec.list[0].map[key]`. Immutable. */
export class FieldPath {
  private constructor(private readonly text: string) {}

  static readonly empty = new FieldPath('');

  static of(...names: string[]): FieldPath {
    return new FieldPath(names.join('.'));
  }

  child(...names: string[]): FieldPath {
    const tail = names.join('.');
    return new FieldPath(this.text === '' ? tail : `${this.text}.${tail}`);
  }

  index(index: number): FieldPath {
    return new FieldPath(`${this.text}[${index}]`);
  }

  key(key: string): FieldPath {
    return new FieldPath(`${this.text}[${key}]`);
  }

  /** Returns `<nil>` for the root, as Go prints a nil path. */
  toString(): string {
    return this.text === '' ? '<nil>' : this.text;
  }
}

type Where = FieldPath | string;

export const notFound = (field: Where, value: JsonValue | undefined, detail = ''): FieldError =>
  new FieldError('FieldValueNotFound', field.toString(), value, detail);
export const required = (field: Where, detail = ''): FieldError =>
  new FieldError('FieldValueRequired', field.toString(), '', detail);
export const duplicate = (field: Where, value: JsonValue | undefined | Printed, detail = ''): FieldError =>
  new FieldError('FieldValueDuplicate', field.toString(), value, detail);
export const invalid = (
  field: Where,
  value: JsonValue | undefined | Printed | typeof OMIT,
  detail: string,
): FieldError => new FieldError('FieldValueInvalid', field.toString(), value, detail);
export const typeInvalid = (field: Where, value: JsonValue | undefined, detail: string): FieldError =>
  new FieldError('FieldValueTypeInvalid', field.toString(), value, detail);
export const forbidden = (field: Where, detail: string): FieldError =>
  new FieldError('FieldValueForbidden', field.toString(), '', detail);
/** `maxLength` is in bytes; if it is negative, the message does not state it. */
export const tooLong = (field: Where, maxLength: number): FieldError =>
  new FieldError(
    'FieldValueTooLong',
    field.toString(),
    OMIT,
    maxLength < 0 ? 'value is too long' : `may not be more than ${maxLength} ${maxLength === 1 ? 'byte' : 'bytes'}`,
  );
export const tooMany = (field: Where, actual: number, max: number): FieldError =>
  new FieldError(
    'FieldValueTooMany',
    field.toString(),
    actual,
    max < 0 ? 'has too many items' : `must have at most ${max} ${max === 1 ? 'item' : 'items'}`,
  );
/** `supported` is printed in the given order. */
export const notSupported = (
  field: Where,
  value: JsonValue | undefined | Printed,
  supported: readonly string[],
): FieldError =>
  new FieldError(
    'FieldValueNotSupported',
    field.toString(),
    value,
    supported.length === 0 ? '' : `supported values: ${supported.map(quote).join(', ')}`,
  );
/** Like notSupported, for a type of constants, which Go prints as JSON. */
export const notSupportedConstant = (field: Where, value: string, supported: readonly string[]): FieldError =>
  notSupported(field, new Printed(goJson(value)), supported);
export const internalError = (field: Where, detail: string): FieldError =>
  new FieldError('InternalError', field.toString(), undefined, detail);

/** Formats errors as Go's ErrorList.ToAggregate().Error() does. */
export function aggregate(errors: readonly FieldError[]): string {
  return aggregateMessages(errors.map((error) => error.toString()));
}
