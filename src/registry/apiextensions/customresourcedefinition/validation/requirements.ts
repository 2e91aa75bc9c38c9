import { isConditionTrue } from '../../../../apimachinery/meta/conditions.js';
import { FieldPath } from '../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, stringsOf, textAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { KnownExpressions } from '../../../../schema/cel/definition.js';
import { hasUnprunedDefaults } from '../../../../schema/defaulting/default-validation.js';
import type { JsonSchemaProps } from '../../../../schema/interfaces.js';
import { structuralError, validateStructural } from '../../../../schema/structural.js';
import { caBundleFault } from './ca-bundle.js';
import { REVIEW_VERSIONS } from '../../../builtin/shared/webhook-client.js';
import { clientConfigOf, MAX_SELECTABLE_FIELDS, type SchemaRequirements } from '../interfaces.js';
import { type InternalSpec, objectsAt, schemasOf } from '../internal.js';
import { sameValue } from '../same.js';
import { nonAtomicItems, validateMapListKeys } from './schema-validation.js';
import { schemaHas } from '../visit.js';

export const REQUIREMENTS_FOR_CREATE: SchemaRequirements = {
  schemas: true,
  validTypes: true,
  structural: true,
  prunedDefaults: true,
  atomicSets: true,
  mapListKeys: true,
  immutableNames: false,
  recognizedReviewVersion: true,
  validCaBundle: false,
  manySelectableFields: new Set(),
  unchangedVersions: new Set(),
  knownExpressions: { rules: new Set(), messageExpressions: new Set() },
};

export function requirementsForUpdate(spec: InternalSpec, old: InternalSpec, oldCrd: KubeObject): SchemaRequirements {
  const unchanged = new Set(unchangedVersions(spec, old));
  // The stored schemas matter only if a schema changes.
  const schemas = spec.versions.every(({ name }) => unchanged.has(name)) ? [] : schemasOf(old);
  const none = (test: (schema: JsonSchemaProps) => boolean): boolean =>
    !schemas.some((schema) => schemaHas(schema, test));
  return {
    schemas:
      old.validation?.schema !== undefined || old.versions.every(({ validation }) => validation?.schema !== undefined),
    validTypes: none((schema) => isUnknownType(textAt(schema, 'type'))),
    structural: schemas.every(isStructural),
    prunedDefaults: !schemas.some((schema) => isStructural(schema) && hasUnprunedDefaults(schema)),
    atomicSets: none((schema) => nonAtomicItems(schema) !== undefined),
    mapListKeys: none((schema) => validateMapListKeys(schema, FieldPath.empty).length > 0),
    immutableNames: isConditionTrue(oldCrd, 'Established'),
    recognizedReviewVersion: old.conversion === undefined || hasRecognizedVersion(old.conversion),
    validCaBundle: isConditionTrue(oldCrd, 'Established') && !hasInvalidCaBundle(old),
    manySelectableFields: new Set(manySelectableFields(spec, old)),
    unchangedVersions: unchanged,
    knownExpressions: knownExpressions(schemas),
  };
}

const KNOWN_TYPES = new Set(['', 'string', 'number', 'integer', 'boolean', 'array', 'object']);
const isUnknownType = (type: string): boolean => !KNOWN_TYPES.has(type);

const isStructural = (schema: JsonSchemaProps): boolean =>
  structuralError(schema) === undefined && validateStructural(schema, FieldPath.empty).length === 0;

export function reviewVersionsOf(conversion: JsonObject): readonly string[] {
  return stringsOf(objectAt(conversion, 'webhook')?.['conversionReviewVersions']);
}

function hasRecognizedVersion(conversion: JsonObject): boolean {
  const versions = reviewVersionsOf(conversion);
  return versions.length === 0 || versions.some((version) => REVIEW_VERSIONS.includes(version));
}

function hasInvalidCaBundle(spec: InternalSpec): boolean {
  const bundle = spec.conversion === undefined ? undefined : clientConfigOf(spec.conversion)?.['caBundle'];
  return typeof bundle === 'string' && bundle !== '' && caBundleFault(bundle) !== undefined;
}

function* manySelectableFields(spec: InternalSpec, old: InternalSpec): Generator<string> {
  const kept = (fields: readonly JsonObject[], before: readonly JsonObject[]): boolean =>
    before.length > MAX_SELECTABLE_FIELDS && sameValue([...fields], [...before]);
  if (kept(spec.selectableFields, old.selectableFields)) yield '';
  for (const version of spec.versions) {
    const before = old.versions.find(({ name }) => name === version.name);
    if (before !== undefined && kept(version.selectableFields, before.selectableFields)) yield version.name;
  }
}

function* unchangedVersions(spec: InternalSpec, old: InternalSpec): Generator<string> {
  const schemaFor = (from: InternalSpec, name: string): JsonSchemaProps | undefined =>
    from.versions.some(({ validation }) => validation !== undefined)
      ? from.versions.find((version) => version.name === name)?.validation?.schema
      : from.validation?.schema;
  const [seen, twice] = [new Set<string>(), new Set<string>()];
  for (const { name } of spec.versions) (seen.has(name) ? twice : seen).add(name);
  for (const name of seen) {
    const before = schemaFor(old, name);
    // Of several versions with the same name, only the first would be compared.
    if (before !== undefined && !twice.has(name) && sameValue(before, schemaFor(spec, name))) yield name;
  }
}

function knownExpressions(schemas: readonly JsonSchemaProps[]): KnownExpressions {
  const rules = new Set<string>();
  const messageExpressions = new Set<string>();
  for (const schema of schemas) {
    schemaHas(schema, (part) => {
      for (const rule of objectsAt(part, 'x-kubernetes-validations')) {
        rules.add(textAt(rule, 'rule'));
        const expression = textAt(rule, 'messageExpression');
        if (expression !== '') messageExpressions.add(expression);
      }
      return false;
    });
  }
  return { rules, messageExpressions };
}
