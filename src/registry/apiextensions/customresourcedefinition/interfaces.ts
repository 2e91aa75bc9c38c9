import type { FieldError, FieldPath } from '../../../apimachinery/meta/field-error.js';
import type { JsonValue } from '../../../apimachinery/json/json.js';
import type { JsonSchemaProps } from '../../../schema/interfaces.js';

/** The maximum number of selectable fields in a version. */
export const MAX_SELECTABLE_FIELDS = 8;

/** The expressions of a definition before an update: they may use what later versions removed. */
export interface KnownExpressions {
  readonly rules: ReadonlySet<string>;
  readonly messageExpressions: ReadonlySet<string>;
}

/** The checks of rules, which another layer provides. */
export interface RuleChecks {
  /**
   * Compiles the rules of a schema that is known to be structural, and estimates their costs. Returns the errors that
   * kube-apiserver has. Omits rules at or above the path of one of `schemaErrors`. Not called for schemas that an update leaves
   * unchanged.
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
  readonly validateRules?:
    | ((schema: JsonSchemaProps, path: FieldPath, schemaErrors: readonly FieldError[]) => readonly FieldError[])
    | undefined;
  readonly validateDefaultByRules?: RuleChecks['validateDefaultByRules'];
}

/** The versions of ConversionReview that kube-apiserver supports. */
export const REVIEW_VERSIONS = ['v1', 'v1beta1'];
