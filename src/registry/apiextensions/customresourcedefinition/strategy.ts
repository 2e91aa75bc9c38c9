import { withFloats } from '../../../apimachinery/json/float.js';
import { type JsonObject, deepCopy, isObject, objectAt, textAt } from '../../../apimachinery/json/json.js';
import { type KubeObject, formatTime, hasDeletionTimestamp, quote } from '../../../apimachinery/meta/meta.js';
import { coerceDefaults } from '../../../schema/defaulting/coerce-defaults.js';
import { isRecognizedFormat } from '../../../schema/formats/formats.js';
import type { JsonSchemaProps } from '../../../schema/interfaces.js';
import { withYieldPoint } from '@annex/cel/yield-point';
import type { DeletionStrategy, Strategy } from '../../rest/interfaces.js';
import { ownPrecondition } from '../../rest/precondition.js';
import { setCustomResourceDefinitionDefaults, setStoredForm, storageVersionOf } from './defaults.js';
import { schemasOf, stringsAt, toInternalSpec } from './internal.js';
import { CLEANUP_FINALIZER, setTerminating } from './status.js';
import {
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionStatusUpdate,
  validateCustomResourceDefinitionUpdate,
} from './validation/validation.js';
import { schemaHas } from './visit.js';

export const customResourceDefinitionStrategy: Strategy = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: false,
  hasGeneration: true,
  resetFields: { 'apiextensions.k8s.io/v1': [['status']] },
  prepareForCreate: (_, crd) => {
    crd['status'] = {};
    setStoredForm(crd);
  },
  validateCreate: (context, crd) =>
    withYieldPoint(context.ruleYieldPoint?.(), () => validateCustomResourceDefinition(withFloats(crd))),
  warningsOnCreate: (_, crd) => [...formatWarnings(unrecognizedFormats(crd)), ...setWarnings(crd)],
  canonicalize: (crd) => {
    for (const schema of schemasOf(toInternalSpec(crd))) if (hasEmbeddedDefault(schema)) coerceDefaults(schema);
  },
  prepareForUpdate: (_, crd, old) => {
    setStoredForm(crd);
    crd['status'] = withStoredVersion(deepCopy(objectAt(old, 'status') ?? {}), crd);
  },
  validateUpdate: (context, crd, old) =>
    withYieldPoint(context.ruleYieldPoint?.(), () => validateCustomResourceDefinitionUpdate(withFloats(crd), old)),
  warningsOnUpdate: (_, crd, old) => {
    const known = unrecognizedFormats(old);
    const formats = formatWarnings(new Set([...unrecognizedFormats(crd)].filter((format) => !known.has(format))));
    const warned = new Set(setWarnings(old));
    return [...formats, ...setWarnings(crd).filter((text) => !warned.has(text))];
  },
};

function hasEmbeddedDefault(schema: JsonSchemaProps): boolean {
  if (isObject(schema['default'])) return true;
  return (
    schemaHas(schema, (part) => part['x-kubernetes-embedded-resource'] === true) &&
    schemaHas(schema, (part) => isObject(part['default']) || Array.isArray(part['default']))
  );
}

/** The strategy of the status subresource. Everything but the spec is accepted as given, including metadata, as in kube-apiserver. */
export const customResourceDefinitionStatusStrategy: Strategy = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: false,
  resetFields: { 'apiextensions.k8s.io/v1': [['spec']] },
  validateCreate: () => [],
  prepareForUpdate: (_, crd, old) => {
    // The spec may be large and has its defaults already. Only the status gets defaults here.
    crd['spec'] = old['spec'];
    setCustomResourceDefinitionDefaults(crd);
  },
  validateUpdate: (_, crd, old) => validateCustomResourceDefinitionStatusUpdate(crd, old),
};

/** The first deletion only marks a definition. It is removed when its objects are gone and the finalizer is removed. */
export const customResourceDefinitionDeletion: DeletionStrategy = {
  preconditionFailed: ownPrecondition('apiextensions.k8s.io', 'customresourcedefinitions', 'precondition failed'),
  beforeDelete: (context, crd) => {
    if (hasDeletionTimestamp(crd)) return undefined;
    const finalizers = crd.metadata.finalizers ?? [];
    const marked: KubeObject = {
      ...crd,
      metadata: {
        ...crd.metadata,
        deletionTimestamp: formatTime(context.receivedAt),
        finalizers: finalizers.includes(CLEANUP_FINALIZER) ? finalizers : [...finalizers, CLEANUP_FINALIZER],
      },
    };
    return setTerminating(marked, context.receivedAt, 'InstanceDeletionPending');
  },
};

function withStoredVersion(status: JsonObject, crd: KubeObject): JsonObject {
  const storage = storageVersionOf(objectAt(crd, 'spec'));
  const stored = stringsAt(status, 'storedVersions');
  if (storage === undefined || stored.includes(storage)) return status;
  return { ...status, storedVersions: [...stored, storage] };
}

function unrecognizedFormats(crd: KubeObject): Set<string> {
  const formats = new Set<string>();
  for (const schema of schemasOf(toInternalSpec(crd))) {
    schemaHas(schema, (part) => {
      const format = textAt(part, 'format');
      if (format !== '' && !isRecognizedFormat(textAt(part, 'type'), format)) formats.add(format);
      return false;
    });
  }
  return formats;
}

/** Returns a warning for each kind of items that are no scalars in a list of type set. */
function setWarnings(crd: KubeObject): string[] {
  const types = new Set<string>();
  for (const schema of schemasOf(toInternalSpec(crd))) {
    schemaHas(schema, (part) => {
      const type = part['x-kubernetes-list-type'] === 'set' ? textAt(objectAt(part, 'items'), 'type') : '';
      if (type === 'object' || type === 'array') types.add(type);
      return false;
    });
  }
  return [...types]
    .sort()
    .map(
      (type) =>
        `x-kubernetes-list-type: set for items of type ${quote(type)} is not supported by server-side apply or CEL validation rules`,
    );
}

const formatWarnings = (formats: ReadonlySet<string>): string[] =>
  [...formats].map((format) => `unrecognized format ${quote(format)}`);
