import type { FieldError, FieldPath } from '../../../apimachinery/meta/field-error.js';
import type { JsonValue } from '../../../apimachinery/json/json.js';
import type { JsonSchemaProps } from '../../../schema/interfaces.js';

/** How many fields of a version may be selectable. */
export const MAX_SELECTABLE_FIELDS = 8;

/** Expressions of a definition before an update: they may use what later versions took away. */
export interface KnownExpressions {
  readonly rules: ReadonlySet<string>;
  readonly messageExpressions: ReadonlySet<string>;
}

/** Checks of rules, which are another layer's. */
export interface RuleChecks {
  /**
   * Compiles the rules of a schema that is known to be structural, and estimates their costs: errors as kube-apiserver has
   * them. Rules at or above the place of one of `schemaErrors` are left out. Not asked about schemas that an update leaves as
   * they were.
   */
  readonly validateRules?:
    | ((
        schema: JsonSchemaProps,
        path: FieldPath,
        known: KnownExpressions,
        schemaErrors: readonly FieldError[],
      ) => readonly FieldError[])
    | undefined;
  /** Runs the rules of a schema on its default. */
  readonly validateDefaultByRules?:
    ((schema: JsonSchemaProps, value: JsonValue, path: FieldPath) => readonly FieldError[]) | undefined;
}

/** What a definition must fulfil. Updates need not fulfil what the stored definition did not. */
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
  /** Versions, or '' for the common ones, that may have more selectable fields than the limit. */
  readonly manySelectableFields: ReadonlySet<string>;
  /** Versions whose schema is the same as before. */
  readonly unchangedVersions: ReadonlySet<string>;
  readonly validateRules?:
    | ((schema: JsonSchemaProps, path: FieldPath, schemaErrors: readonly FieldError[]) => readonly FieldError[])
    | undefined;
  readonly validateDefaultByRules?: RuleChecks['validateDefaultByRules'];
}

/** Versions of ConversionReview that kube-apiserver speaks. */
export const REVIEW_VERSIONS = ['v1', 'v1beta1'];
