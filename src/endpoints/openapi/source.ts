import type { JsonObject } from '../../apimachinery/json/json.js';
import type { JsonSchemaProps } from '../../schema/interfaces.js';

/** A subresource as documentation shows it. */
export interface OpenApiSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** Type of its objects where it is not the resource's: Scale, TokenRequest. */
  readonly type?: { readonly group: string; readonly version: string; readonly kind: string } | undefined;
}

export interface OpenApiKind {
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** A built-in type that is not served as Protobuf. */
  readonly noProtobuf?: boolean | undefined;
  /** openAPIV3Schema of a custom type; undefined for built-in types, and for custom ones without a schema. */
  readonly schema?: JsonSchemaProps | undefined;
  /** Paths without the leading dot, of custom types. */
  readonly selectableFields?: readonly string[] | undefined;
  readonly subresources: readonly OpenApiSubresource[];
}

/** Equal by identity as long as nothing in it has changed: what is made of it is kept under it. */
export interface OpenApiGroupVersion {
  readonly group: string;
  readonly version: string;
  /** Made by definitions at run time; then the kinds' schemas are theirs. Else they are in the published components. */
  readonly custom: boolean;
  readonly kinds: readonly OpenApiKind[];
}

/** Where OpenAPI gets what is served. */
export interface OpenApiSource {
  groupVersions(): readonly OpenApiGroupVersion[];
}

/** `components.schemas` of built-in types by group version: `api/v1`, `apis/rbac.authorization.k8s.io/v1`. */
export type PublishedComponents = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;

/** `api/v1` or `apis/<group>/<version>`. */
export const pathOf = (gv: { readonly group: string; readonly version: string }): string =>
  gv.group === '' ? `api/${gv.version}` : `apis/${gv.group}/${gv.version}`;
