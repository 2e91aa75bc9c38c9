import type { FieldError } from '../apimachinery/meta/field-error.js';
import type { JsonObject } from '../apimachinery/json/json.js';

/** JSONSchemaProps of apiextensions.k8s.io/v1, as written in a CRD. */
export type JsonSchemaProps = JsonObject;

export interface ValidationOptions {
  /** The object before an update: errors of fields that did not change are ratcheted. */
  readonly old?: JsonObject | undefined;
  /** Errors found earlier (in metadata). Certain errors prevent rules from running, which an additional error reports. They are not returned. */
  readonly before?: readonly FieldError[];
  /** True if the object has another kind or version: values are not validated, but embedded objects and list types are. */
  readonly mistyped?: boolean;
  /** Receives the errors of rules that are ratcheted because their values did not change. */
  readonly warn?: (text: string) => void;
}

/** The paths of the scale subresource, with their leading dot, as in a CRD. */
export interface ScaleSubresource {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string | undefined;
}

/** The maximum number of values that the defaults of a schema can add to an object. */
export interface DefaultsBound {
  /** Added to the object itself. */
  readonly once: number;
  /** Added to each object in its lists and maps. */
  readonly perItem: number;
}
