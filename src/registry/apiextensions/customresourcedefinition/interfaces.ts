import { type JsonObject, objectAt } from '../../../apimachinery/json/json.js';
import type { KnownExpressions } from '../../../schema/cel/definition.js';

/** The maximum number of selectable fields in a version. */
export const MAX_SELECTABLE_FIELDS = 8;

/** The requirements for a definition. An update need not fulfill those that the stored definition did not. */
export interface SchemaRequirements {
  readonly schemas: boolean;
  readonly validTypes: boolean;
  readonly structural: boolean;
  readonly prunedDefaults: boolean;
  readonly atomicSets: boolean;
  readonly mapListKeys: boolean;
  readonly immutableNames: boolean;
  readonly recognizedReviewVersion: boolean;
  readonly validCaBundle: boolean;
  /** The versions, or '' for the common fields, that may exceed the limit of selectable fields. */
  readonly manySelectableFields: ReadonlySet<string>;
  /** The versions whose schema is unchanged. */
  readonly unchangedVersions: ReadonlySet<string>;
  /** The expressions of the definition before an update: they may use what later versions removed. */
  readonly knownExpressions: KnownExpressions;
}

/** Returns the client configuration of a conversion webhook. */
export const clientConfigOf = (conversion: JsonObject): JsonObject | undefined =>
  objectAt(objectAt(conversion, 'webhook'), 'clientConfig');
