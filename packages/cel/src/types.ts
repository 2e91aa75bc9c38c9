export type TypeKind =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'null'
  | 'dyn'
  | 'any'
  | 'duration'
  | 'timestamp'
  | 'list'
  | 'map'
  | 'type'
  | 'param'
  | 'struct'
  | 'opaque'
  | 'error';

/** A static type. Types are immutable; the scalar ones are shared instances. */
export class Type {
  /** True if the type contains type parameters, so that substitution must visit it. */
  readonly open: boolean;

  constructor(
    readonly kind: TypeKind,
    /** The name that `type(x)` prints: `int`, `google.protobuf.Timestamp`, `list`, an object type's name … */
    readonly name: string,
    readonly params: readonly Type[] = [],
    /** True for wrapper types (`google.protobuf.Int64Value`), which allow null. */
    readonly nullable = false,
  ) {
    this.open = kind === 'param' || params.some((param) => param.open);
  }

  /** The element type of a list, the value type of a map, or the content type of an optional. */
  get elem(): Type {
    return this.params[this.kind === 'map' ? 1 : 0] ?? DYN;
  }

  equals(other: Type): boolean {
    if (this === other) return true;
    if (this.kind !== other.kind || this.name !== other.name || this.nullable !== other.nullable) return false;
    if (this.params.length !== other.params.length) return false;
    return this.params.every((param, i) => {
      const peer = other.params[i];
      return peer !== undefined && param.equals(peer);
    });
  }

  /** Formats the type as in declarations, with the names that `type(x)` prints. */
  declared(): string {
    if (this.nullable) return `wrapper(${this.name})`;
    return this.params.length === 0
      ? this.name
      : `${this.name}(${this.params.map((param) => param.declared()).join(', ')})`;
  }

  /** Formats the type as in type errors. */
  toString(): string {
    switch (this.kind) {
      case 'any':
      case 'duration':
      case 'timestamp':
      case 'null':
        return this.kind;
      case 'error':
        return '!error!';
      case 'param':
        return this.name;
      default:
    }
    if (this.nullable) return `wrapper(${this.name})`;
    if (this.params.length === 0) return this.name;
    return `${this.name}(${this.params.map(String).join(', ')})`;
  }
}

export const BOOL = new Type('bool', 'bool');
export const INT = new Type('int', 'int');
export const UINT = new Type('uint', 'uint');
export const DOUBLE = new Type('double', 'double');
export const STRING = new Type('string', 'string');
export const BYTES = new Type('bytes', 'bytes');
export const NULL = new Type('null', 'null_type');
export const DYN = new Type('dyn', 'dyn');
export const DURATION = new Type('duration', 'google.protobuf.Duration');
export const TIMESTAMP = new Type('timestamp', 'google.protobuf.Timestamp');
export const ERROR = new Type('error', '!error!');
/** The type of types, with an unknown parameter. */
export const TYPE = new Type('type', 'type');

/** The type of values that may also be null. */
export const nullable = (type: Type): Type => new Type(type.kind, type.name, type.params, true);
export const listOf = (elem: Type): Type => new Type('list', 'list', [elem]);
export const mapOf = (key: Type, value: Type): Type => new Type('map', 'map', [key, value]);
export const typeOf = (param: Type): Type => new Type('type', 'type', [param]);
export const paramType = (name: string): Type => new Type('param', name);
export const objectType = (name: string): Type => new Type('struct', name);
export const opaqueType = (name: string, ...params: Type[]): Type => new Type('opaque', name, params);
export const optionalOf = (param: Type): Type => new Type('opaque', 'optional_type', [param]);

export const isOptional = (type: Type): boolean => type.kind === 'opaque' && type.name === 'optional_type';
export const isDyn = (type: Type): boolean => type.kind === 'dyn' || type.kind === 'any';
