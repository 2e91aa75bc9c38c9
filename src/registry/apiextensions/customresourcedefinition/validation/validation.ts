import { FieldPath, type FieldError, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, textAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import {
  isDns1035Label,
  isDns1123Subdomain,
  type NameValidator,
  nameIsDnsSubdomain,
} from '../../../../apimachinery/validation/names.js';
import {
  validateImmutableField,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '../../../../apimachinery/validation/object-meta.js';
import { choice, eachErrors } from '../../../builtin/shared/checks.js';
import { validateApproval } from './approval.js';
import { validateConversion } from './conversion.js';
import { printVersions } from '../go-print.js';
import {
  type InternalNames,
  type InternalSpec,
  type InternalVersion,
  isStatusEnabled,
  namesOf,
  schemasOf,
  stringsAt,
  toInternalSpec,
} from '../internal.js';
import type { SchemaRequirements } from '../interfaces.js';
import { REQUIREMENTS_FOR_CREATE, requirementsForUpdate } from './requirements.js';
import { validateValidation } from './schema-validation.js';
import {
  validateColumn,
  validateDeprecationWarning,
  validateSelectableFields,
  validateSubresources,
} from './version-validation.js';
import { schemaHas } from '../visit.js';

const SPEC = FieldPath.of('spec');
const STATUS = FieldPath.of('status');

/** Validates a definition on creation, after defaulting. Returns kube-apiserver's errors, in its order. */
export function validateCustomResourceDefinition(crd: KubeObject): FieldError[] {
  const spec = toInternalSpec(crd);
  const wanted = `${spec.names.plural}.${spec.group}`;
  const validateName: NameValidator = (name, use) => [
    ...nameIsDnsSubdomain(name, use),
    ...(name === wanted ? [] : ['must be spec.names.plural+"."+spec.group']),
  ];
  return [
    ...validateObjectMeta(crd.metadata, 'Cluster', validateName),
    ...validateSpec(spec, REQUIREMENTS_FOR_CREATE),
    ...validateStatus(crd),
    ...validateStoredVersions(crd, spec),
    ...validateApproval(crd, spec.group, undefined),
    ...validatePreserveUnknownFields(spec, undefined),
  ];
}

/** Validates an update of a definition. */
export function validateCustomResourceDefinitionUpdate(crd: KubeObject, old: KubeObject): FieldError[] {
  const spec = toInternalSpec(crd);
  const oldSpec = toInternalSpec(old);
  const requirements = requirementsForUpdate(spec, oldSpec, old);
  return [
    ...validateObjectMetaUpdate(crd.metadata, old.metadata),
    ...validateSpec(spec, requirements),
    ...validateImmutableFields(spec, oldSpec, requirements.immutableNames),
    ...validateStatus(crd),
    ...validateStoredVersions(crd, spec),
    ...validateApproval(crd, spec.group, old),
    ...validatePreserveUnknownFields(spec, oldSpec),
  ];
}

/** Validates an update of a definition's status. */
export const validateCustomResourceDefinitionStatusUpdate = (crd: KubeObject, old: KubeObject): FieldError[] => [
  ...validateObjectMetaUpdate(crd.metadata, old.metadata),
  ...validateStatus(crd),
];

const validateStatus = (crd: KubeObject): FieldError[] =>
  validateNames(namesOf(objectAt(objectAt(crd, 'status'), 'acceptedNames')), STATUS.child('acceptedNames'));

function validateStoredVersions(crd: KubeObject, spec: InternalSpec): FieldError[] {
  const stored = stringsAt(objectAt(crd, 'status'), 'storedVersions');
  const path = STATUS.child('storedVersions');
  if (stored.length === 0) return [invalid(path, null, 'must have at least one stored version')];
  const errors: FieldError[] = [];
  // A version that is listed twice is found only once.
  const left = new Map(stored.map((name, i) => [name, i]));
  for (const { name, storage } of spec.versions) {
    if (!left.delete(name) && storage) {
      errors.push(invalid(path, [...stored], `must have the storage version ${name}`));
    }
  }
  for (const [name, i] of left) {
    const text = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    errors.push(invalid(path.index(i), name, text));
  }
  return errors;
}

function validatePreserveUnknownFields(spec: InternalSpec, old: InternalSpec | undefined): FieldError[] {
  if (!spec.preserveUnknownFields || old?.preserveUnknownFields === true) return [];
  const text =
    'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
  return [invalid(SPEC.child('preserveUnknownFields'), true, text)];
}

function validateImmutableFields(spec: InternalSpec, old: InternalSpec, established: boolean): FieldError[] {
  const names = SPEC.child('names');
  return [
    ...(established ? validateImmutableField(spec.scope, old.scope, SPEC.child('scope')) : []),
    ...(established ? validateImmutableField(spec.names.kind, old.names.kind, names.child('kind')) : []),
    ...validateImmutableField(spec.group, old.group, SPEC.child('group')),
    ...validateImmutableField(spec.names.plural, old.names.plural, names.child('plural')),
  ];
}

function validateSpec(spec: InternalSpec, given: SchemaRequirements): FieldError[] {
  // All other definitions must have structural schemas in any case.
  const schemas = spec.preserveUnknownFields ? schemasOf(spec) : [];
  const hasDefaults = schemas.some((schema) => schemaHas(schema, (part) => (part['default'] ?? null) !== null));
  const extended = hasDefaults || schemas.some((schema) => schemaHas(schema, isExtended));
  const structural = given.structural || !spec.preserveUnknownFields || extended;
  const requirements = { ...given, structural };
  const errors = [
    ...validateGroup(spec.group),
    ...choice(spec.scope, SPEC.child('scope'), ['Cluster', 'Namespaced']),
    ...validateSchemasPresent(spec, given),
  ];
  if (hasDefaults) {
    errors.push(
      invalid(SPEC.child('preserveUnknownFields'), true, 'must be false in order to use defaults in the schema'),
    );
  }
  const versions = SPEC.child('versions');
  for (const [i, version] of spec.versions.entries()) {
    const path = versions.index(i);
    errors.push(...labelErrors(version.name, path.child('name')));
    errors.push(...validateVersion(version, spec, requirements, path));
  }
  errors.push(...validateVersions(spec), ...validateRequiredNames(spec.names));
  errors.push(...validateNames(spec.names, SPEC.child('names')), ...validateCommon(spec, requirements));
  if (spec.conversion !== undefined && spec.conversion['strategy'] !== 'None' && spec.preserveUnknownFields) {
    const strategy = textAt(spec.conversion, 'strategy');
    const text = 'must be None if spec.preserveUnknownFields is true';
    errors.push(invalid(SPEC.child('conversion').child('strategy'), strategy, text));
  }
  errors.push(...validateConversion(spec.conversion, requirements, SPEC.child('conversion')));
  return errors;
}

/** Reports whether a schema uses an extension that only structural schemas may use. */
function isExtended(schema: JsonObject): boolean {
  const flags = ['x-kubernetes-embedded-resource', 'x-kubernetes-int-or-string'];
  const pointers = ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-list-type'];
  const lists = ['x-kubernetes-list-map-keys', 'x-kubernetes-validations'];
  return (
    flags.some((key) => schema[key] === true) ||
    pointers.some((key) => (schema[key] ?? null) !== null) ||
    lists.some((key) => Array.isArray(schema[key]) && schema[key].length > 0)
  );
}

function validateGroup(group: string): FieldError[] {
  const path = SPEC.child('group');
  if (group === '') return [required(path)];
  const faults = isDns1123Subdomain(group);
  if (faults.length > 0) return [invalid(path, group, faults.join(','))];
  return group.includes('.') ? [] : [invalid(path, group, 'should be a domain with at least one dot')];
}

function validateSchemasPresent(spec: InternalSpec, requirements: SchemaRequirements): FieldError[] {
  if (spec.validation?.schema !== undefined) return [];
  if (!requirements.schemas && spec.preserveUnknownFields) return [];
  const why = requirements.schemas ? '' : 'because otherwise all fields are pruned';
  return spec.versions.flatMap(({ validation, served }, i) => {
    if (validation?.schema !== undefined || (!requirements.schemas && !served)) return [];
    return [required(SPEC.child('versions').index(i).child('schema', 'openAPIV3Schema'), why)];
  });
}

function validateVersion(
  version: InternalVersion,
  spec: InternalSpec,
  requirements: SchemaRequirements,
  path: FieldPath,
): FieldError[] {
  const perVersion = spec.versions.some(({ subresources }) => subresources !== undefined);
  // Of versions with the same name, the first one counts.
  const named = spec.versions.find(({ name }) => name === version.name);
  const statusEnabled = isStatusEnabled(perVersion ? named?.subresources : spec.subresources);
  const errors = validateDeprecationWarning(version, path.child('deprecationWarning'));
  errors.push(
    ...validateValidation(version.validation, statusEnabled, requirements, path.child('schema'), version.name),
  );
  errors.push(...validateSubresources(version.subresources, path.child('subresources')));
  errors.push(...eachErrors(version.additionalPrinterColumns, path.child('additionalPrinterColumns'), validateColumn));
  if (version.selectableFields.length === 0) return errors;
  const fieldsPath = path.child('selectableFields');
  const schema = version.validation?.schema;
  if (schema === undefined) {
    const text = 'may only be set when `version.schema.openAPIV3Schema` is not included';
    return [...errors, invalid(fieldsPath, '', text)];
  }
  const many = requirements.manySelectableFields.has(version.name);
  return [...errors, ...validateSelectableFields(version.selectableFields, schema, fieldsPath, many)];
}

/** Validates the list of versions as a whole. */
function validateVersions(spec: InternalSpec): FieldError[] {
  const { versions } = spec;
  const path = SPEC.child('versions');
  const errors: FieldError[] = [];
  if (new Set(versions.map(({ name }) => name)).size !== versions.length) {
    errors.push(invalid(path, printVersions(spec), 'must contain unique version names'));
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    errors.push(invalid(path, printVersions(spec), 'must have exactly one version marked as storage version'));
  }
  return spec.version === '' ? errors : [...errors, ...labelErrors(spec.version, SPEC.child('version'))];
}

/** Validates what all versions have in common. */
function validateCommon(spec: InternalSpec, requirements: SchemaRequirements): FieldError[] {
  const statusEnabled =
    isStatusEnabled(spec.subresources) || spec.versions.some((v) => isStatusEnabled(v.subresources));
  const errors = validateValidation(
    spec.validation,
    statusEnabled,
    requirements,
    SPEC.child('validation'),
    spec.version,
  );
  errors.push(...validateSubresources(spec.subresources, SPEC.child('subresources')));
  errors.push(...eachErrors(spec.additionalPrinterColumns, SPEC.child('additionalPrinterColumns'), validateColumn));
  if (spec.selectableFields.length === 0) return errors;
  const path = SPEC.child('selectableFields');
  if (spec.validation === undefined) {
    return [...errors, invalid(path, '', 'may only be set when validations.schema is included')];
  }
  const many = requirements.manySelectableFields.has('');
  return [...errors, ...validateSelectableFields(spec.selectableFields, spec.validation.schema ?? {}, path, many)];
}

function validateRequiredNames(names: InternalNames): FieldError[] {
  const keys = ['plural', 'singular', 'kind', 'listKind'] as const;
  return keys.flatMap((key) => (names[key] === '' ? [required(SPEC.child('names', key))] : []));
}

/** Validates the names that a definition asks for or has been given. */
function validateNames(names: InternalNames, path: FieldPath): FieldError[] {
  const { plural, singular, kind, listKind, shortNames, categories } = names;
  const isSame = kind !== '' && kind === listKind;
  return [
    ...(plural === '' ? [] : labelErrors(plural, path.child('plural'))),
    ...(singular === '' ? [] : labelErrors(singular, path.child('singular'))),
    ...(kind === '' ? [] : kindErrors(kind, path.child('kind'))),
    ...(listKind === '' ? [] : kindErrors(listKind, path.child('listKind'))),
    ...eachErrors(shortNames, path.child('shortNames'), labelErrors),
    ...(isSame ? [invalid(path.child('listKind'), listKind, 'kind and listKind may not be the same')] : []),
    ...eachErrors(categories, path.child('categories'), labelErrors),
  ];
}

function labelErrors(name: string, path: FieldPath): FieldError[] {
  const faults = isDns1035Label(name);
  return faults.length === 0 ? [] : [invalid(path, name, faults.join(','))];
}

function kindErrors(kind: string, path: FieldPath): FieldError[] {
  const faults = isDns1035Label(kind.toLowerCase());
  const text = `may have mixed case, but should otherwise match: ${faults.join(',')}`;
  return faults.length === 0 ? [] : [invalid(path, kind, text)];
}
