import { deepCopy, isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { type Convert, type Notes, Refusal, type Row } from '../conversion.js';
import { isEmpty, isUnset, dropOtherFields, ensureObject, objectIn, objectsIn, take, textIn } from '../fields.js';
import { makeStructural } from '../definitions/structural-schema.js';

const V1 = 'apiextensions.k8s.io/v1';
const APPROVED = 'api-approved.kubernetes.io';
/** Fields for all versions, which are fields of each version in v1. */
const SHARED = ['validation', 'subresources', 'additionalPrinterColumns', 'selectableFields'];

const definition: Convert = (object, notes) => {
  const spec = objectIn(object, 'spec', '');
  if (spec === undefined) throw new Refusal('spec is missing');
  checkApproval(object, textIn(spec, 'group', 'spec') ?? '');
  if (isEmpty(spec['scope'])) spec['scope'] = 'Namespaced';
  const preserves = take(spec, 'preserveUnknownFields') !== false;
  const versions = versionsOf(spec);
  share(spec, versions);
  spec['versions'] = versions;
  const schemas = new Set<string>();
  versions.forEach((version, i) => {
    const path = `spec.versions[${String(i)}]`;
    columns(version, path);
    convertSchema(version, path, preserves, quietFor(schemas, notes));
  });
  conversion(spec, notes);
};

/** Versions often have the same schema: each remark about it is made only once. */
function quietFor(said: Set<string>, notes: Notes): Notes {
  const once = (text: string, say: () => void): void => {
    const key = text.replace(/^spec\.versions\[\d+\]/, '');
    if (said.has(key)) return;
    say();
    said.add(key);
  };
  return {
    warn: (text) => once(text, () => notes.warn(text)),
    lose: (text) => once(text, () => notes.lose(text)),
  };
}

function checkApproval(object: JsonObject, group: string): void {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return;
  const metadata = objectIn(object, 'metadata', '') ?? {};
  const annotations = objectIn(metadata, 'annotations', 'metadata');
  if (!isEmpty(annotations?.[APPROVED])) return;
  throw new Refusal(
    `the group ${group} is protected: v1 requires the annotation ${APPROVED} with the URL of the approval, ` +
      'or "unapproved, …" with a reason',
  );
}

function versionsOf(spec: JsonObject): JsonObject[] {
  const name = textIn(spec, 'version', 'spec');
  take(spec, 'version');
  const versions = objectsIn(spec, 'versions', 'spec').map(([version]) => version);
  if (versions.length > 0) {
    const first = versions[0]?.['name'];
    if (name !== undefined && first !== name)
      throw new Refusal('spec.version and the name of the first of spec.versions differ');
    return versions;
  }
  if (name === undefined) throw new Refusal('spec has neither version nor versions');
  return [{ name, served: true, storage: true }];
}

function share(spec: JsonObject, versions: readonly JsonObject[]): void {
  for (const key of SHARED) {
    const value = take(spec, key);
    if (value === undefined) continue;
    const own = key === 'validation' ? 'schema' : key;
    for (const [i, version] of versions.entries()) {
      if (!isUnset(version[own]))
        throw new Refusal(`spec.${key} and spec.versions[${String(i)}].${own} are both given`);
      version[own] = deepCopy(value);
    }
  }
}

function columns(version: JsonObject, path: string): void {
  for (const [column, at] of objectsIn(version, 'additionalPrinterColumns', path)) {
    const old = take(column, 'JSONPath');
    if (old === undefined) continue;
    if (!isUnset(column['jsonPath'])) throw new Refusal(`${at} has JSONPath and jsonPath`);
    column['jsonPath'] = old;
  }
}

function convertSchema(version: JsonObject, path: string, preserves: boolean, notes: Notes): void {
  const schema = ensureObject(version, 'schema', path);
  const known = objectIn(schema, 'openAPIV3Schema', `${path}.schema`);
  if (known === undefined) {
    schema['openAPIV3Schema'] = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    return;
  }
  const inner = withoutNulls(known) as JsonObject;
  schema['openAPIV3Schema'] = inner;
  makeStructural(inner, `${path}.schema.openAPIV3Schema`, preserves, notes);
}

/** Removes nulls from a schema, where they mean unset, except from values that are data. */
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (isUnset(member)) continue;
    out[key] = key === 'default' || key === 'enum' || key === 'example' ? member : withoutNulls(member);
  }
  return out;
}

function conversion(spec: JsonObject, notes: Notes): void {
  const known = objectIn(spec, 'conversion', 'spec');
  if (known === undefined) {
    take(spec, 'conversion');
    return;
  }
  const config = take(known, 'webhookClientConfig');
  const reviews = take(known, 'conversionReviewVersions');
  if (isEmpty(known['strategy'])) known['strategy'] = 'None';
  if (known['strategy'] === 'Webhook') {
    if (config === undefined) throw new Refusal('spec.conversion.webhookClientConfig is missing');
    const versions = isEmpty(reviews) ? ['v1beta1'] : (reviews as JsonValue);
    known['webhook'] = { clientConfig: config, conversionReviewVersions: versions };
  } else if (!isEmpty(config))
    notes.lose('spec.conversion.webhookClientConfig has no effect without the strategy Webhook');
  dropOtherFields(known, ['strategy', 'webhook'], 'spec.conversion', V1, notes);
}

export const apiextensions: readonly Row[] = [
  {
    from: ['apiextensions.k8s.io/v1beta1'],
    kinds: ['CustomResourceDefinition'],
    to: V1,
    convert: definition,
  },
];
