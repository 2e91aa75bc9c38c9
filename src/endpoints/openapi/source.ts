import type { JsonObject } from '../../apimachinery/json/json.js';
import type { JsonSchemaProps } from '../../schema/interfaces.js';

/** A subresource in the OpenAPI documents. */
export interface OpenApiSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** The type of its objects if it is not the resource's own: Scale, TokenRequest. */
  readonly type?: { readonly group: string; readonly version: string; readonly kind: string } | undefined;
}

export interface OpenApiKind {
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** True for a built-in type that is not served as Protobuf. */
  readonly noProtobuf?: boolean | undefined;
  /** openAPIV3Schema of a custom resource; undefined for built-in types, and for custom resources without a schema. */
  readonly schema?: JsonSchemaProps | undefined;
  /** The selectable field paths of a custom resource, without the leading dot. */
  readonly selectableFields?: readonly string[] | undefined;
  readonly subresources: readonly OpenApiSubresource[];
}

/** A served group version. It stays the same object until something in it changes, so documents are cached under it. */
export interface OpenApiGroupVersion {
  readonly group: string;
  readonly version: string;
  /** True if created by definitions at run time, whose kinds carry their schemas. Other schemas are in the published components. */
  readonly custom: boolean;
  readonly kinds: readonly OpenApiKind[];
}

/** The source of the served group versions. */
export interface OpenApiSource {
  groupVersions(): readonly OpenApiGroupVersion[];
}

/** `components.schemas` of built-in types by group version: `api/v1`, `apis/rbac.authorization.k8s.io/v1`. */
export type PublishedComponents = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;

/** Returns `api/v1` or `apis/<group>/<version>`. */
export const pathOf = (gv: { readonly group: string; readonly version: string }): string =>
  gv.group === '' ? `api/${gv.version}` : `apis/${gv.group}/${gv.version}`;
