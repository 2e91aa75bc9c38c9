// Made by hack/declarations.mjs from data/ (make data). Not to be edited.
import type { JsonObject, JsonValue } from '../json/json.js';
import type { KubeObject } from '../meta/meta.js';

export interface CustomResourceColumnDefinition extends JsonObject {
  name?: string;
  type?: string;
  format?: string;
  description?: string;
  priority?: number;
  jsonPath?: string;
}

export interface CustomResourceConversion extends JsonObject {
  strategy?: string;
  webhook?: WebhookConversion;
}

export interface CustomResourceDefinition extends KubeObject {
  spec?: CustomResourceDefinitionSpec;
  status?: CustomResourceDefinitionStatus;
}

export interface CustomResourceDefinitionCondition extends JsonObject {
  type?: string;
  status?: string;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
  observedGeneration?: number | bigint;
}

export interface CustomResourceDefinitionNames extends JsonObject {
  plural?: string;
  singular?: string;
  shortNames?: string[];
  kind?: string;
  listKind?: string;
  categories?: string[];
}

export interface CustomResourceDefinitionSpec extends JsonObject {
  group?: string;
  names?: CustomResourceDefinitionNames;
  scope?: string;
  versions?: CustomResourceDefinitionVersion[] | null;
  conversion?: CustomResourceConversion;
  preserveUnknownFields?: boolean;
}

export interface CustomResourceDefinitionStatus extends JsonObject {
  conditions?: CustomResourceDefinitionCondition[] | null;
  acceptedNames?: CustomResourceDefinitionNames;
  storedVersions?: string[] | null;
  observedGeneration?: number | bigint;
}

export interface CustomResourceDefinitionVersion extends JsonObject {
  name?: string;
  served?: boolean;
  storage?: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: CustomResourceValidation;
  subresources?: CustomResourceSubresources;
  additionalPrinterColumns?: CustomResourceColumnDefinition[];
  selectableFields?: SelectableField[];
}

export interface CustomResourceSubresourceScale extends JsonObject {
  specReplicasPath?: string;
  statusReplicasPath?: string;
  labelSelectorPath?: string;
}

export interface CustomResourceSubresourceStatus extends JsonObject {}

export interface CustomResourceSubresources extends JsonObject {
  status?: CustomResourceSubresourceStatus;
  scale?: CustomResourceSubresourceScale;
}

export interface CustomResourceValidation extends JsonObject {
  openAPIV3Schema?: JSONSchemaProps;
}

export interface ExternalDocumentation extends JsonObject {
  description?: string;
  url?: string;
}

export interface JSONSchemaProps extends JsonObject {
  id?: string;
  $schema?: string;
  $ref?: string;
  description?: string;
  type?: string;
  format?: string;
  title?: string;
  default?: JsonValue;
  maximum?: number;
  exclusiveMaximum?: boolean;
  minimum?: number;
  exclusiveMinimum?: boolean;
  maxLength?: number | bigint;
  minLength?: number | bigint;
  pattern?: string;
  maxItems?: number | bigint;
  minItems?: number | bigint;
  uniqueItems?: boolean;
  multipleOf?: number;
  enum?: JsonValue[];
  maxProperties?: number | bigint;
  minProperties?: number | bigint;
  required?: string[];
  items?: JSONSchemaProps | JSONSchemaProps[];
  allOf?: JSONSchemaProps[];
  oneOf?: JSONSchemaProps[];
  anyOf?: JSONSchemaProps[];
  not?: JSONSchemaProps;
  properties?: Record<string, JSONSchemaProps>;
  additionalProperties?: JSONSchemaProps | boolean;
  patternProperties?: Record<string, JSONSchemaProps>;
  dependencies?: Record<string, JSONSchemaProps | string[] | null>;
  additionalItems?: JSONSchemaProps | boolean;
  definitions?: Record<string, JSONSchemaProps>;
  externalDocs?: ExternalDocumentation;
  example?: JsonValue;
  nullable?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-validations'?: ValidationRule[];
}

export interface SelectableField extends JsonObject {
  jsonPath?: string;
}

export interface ServiceReference extends JsonObject {
  namespace?: string;
  name?: string;
  path?: string;
  port?: number;
}

export interface ValidationRule extends JsonObject {
  rule?: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

export interface WebhookClientConfig extends JsonObject {
  url?: string;
  service?: ServiceReference;
  caBundle?: string;
}

export interface WebhookConversion extends JsonObject {
  clientConfig?: WebhookClientConfig;
  conversionReviewVersions?: string[] | null;
}
