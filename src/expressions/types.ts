import {
  type Adapter,
  adapterOf,
  type DeclType,
  type Environment,
  estimateCost,
  type Program,
  type Range,
  SchemaTypes,
  type StructDecl,
  type Type,
  types,
  withTypeAndObjectMeta,
} from '@annex/cel';
import type { JsonObject } from '../apimachinery/json/json.js';
import { getOwn } from '../util/get-own.js';

/** The object types of a table: the fields of each, by its name. */
export type Structs = Readonly<Record<string, Readonly<Record<string, Type>>>>;

/** Returns the lookup of the object types of a table. `has` says which fields exist now. */
export function structsOf(
  table: Structs,
  has: (field: string) => boolean = () => true,
): (name: string) => StructDecl | undefined {
  return (name) => {
    const fields = getOwn(table, name);
    if (fields === undefined) return undefined;
    return { type: types.objectType(name), field: (field) => (has(field) ? getOwn(fields, field) : undefined) };
  };
}

/** The type of the objects that a schema describes. */
export class ObjectType {
  private readonly names: SchemaTypes;
  private readonly declared: DeclType | undefined;
  private adapter: Adapter | undefined;

  /** `name` begins the names of the types in errors. */
  constructor(
    name: string,
    private readonly schema: JsonObject,
  ) {
    this.names = new SchemaTypes(name);
    this.declared = this.names.declare(schema, 'resource');
  }

  /** Dynamic if the schema has no type that expressions can access. */
  get type(): Type {
    return this.declared?.type ?? types.DYN;
  }

  /** Returns the environment with variables of this type. */
  within(environment: Environment, ...variables: readonly string[]): Environment {
    return environment.extend(
      variables.map((name) => ({ name, type: this.type })),
      (name) => this.names.struct(name),
    );
  }

  /** The value of an object of this type. */
  get valueOf(): Adapter {
    return (this.adapter ??= adapterOf(withTypeAndObjectMeta(this.schema)));
  }

  /** Estimates the cost of a checked expression whose variables are of this type. */
  costOf({ expr }: Program): Range {
    return estimateCost(expr, () => this.declared);
  }
}
