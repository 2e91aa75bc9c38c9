import { deepCopy, type JsonObject } from '../../../apimachinery/json/json.js';
import { type Convert, type Dead, type Notes, Refusal, type Row } from '../conversion.js';
import { isEmpty, isUnset, ensureObject, makeExplicit, objectIn, take } from '../fields.js';

const EXTENSIONS = 'extensions/v1beta1';
const V1BETA1 = 'apps/v1beta1';
const V1BETA2 = 'apps/v1beta2';
const V1 = 'apps/v1';

const MAX_INT32 = 2147483647;

function specOf(object: JsonObject): JsonObject {
  const spec = objectIn(object, 'spec', '');
  if (spec === undefined) throw new Refusal('spec is missing');
  return spec;
}

/** Before apps/v1beta2, the labels of the template were the default for a missing selector and for missing labels of the object. */
function labelsFromTemplate(object: JsonObject, spec: JsonObject, apiVersion: string): void {
  const template = objectIn(spec, 'template', 'spec') ?? {};
  const labels = objectIn(objectIn(template, 'metadata', 'spec.template') ?? {}, 'labels', 'spec.template.metadata');
  if (apiVersion !== V1BETA2 && labels !== undefined && !isEmpty(labels)) {
    makeExplicit(spec, 'selector', { matchLabels: deepCopy(labels) });
    const metadata = ensureObject(object, 'metadata', '');
    if (isEmpty(metadata['labels'])) metadata['labels'] = deepCopy(labels);
  }
  if (isUnset(spec['selector']))
    throw new Refusal('spec.selector is missing, which apps/v1 requires: set it to the labels of the pods');
}

const workload: Convert = (object, _notes, apiVersion) => {
  const spec = specOf(object);
  labelsFromTemplate(object, spec, apiVersion);
};

const deployment: Convert = (object, notes, apiVersion) => {
  const spec = specOf(object);
  labelsFromTemplate(object, spec, apiVersion);
  rollbackTo(object, spec, notes);
  if (apiVersion === EXTENSIONS) {
    const strategy = ensureObject(spec, 'strategy', 'spec');
    if (isEmpty(strategy['type'])) strategy['type'] = 'RollingUpdate';
    if (strategy['type'] === 'RollingUpdate') {
      const update = ensureObject(strategy, 'rollingUpdate', 'spec.strategy');
      makeExplicit(update, 'maxUnavailable', 1);
      makeExplicit(update, 'maxSurge', 1);
    }
    makeExplicit(spec, 'revisionHistoryLimit', MAX_INT32);
    makeExplicit(spec, 'progressDeadlineSeconds', MAX_INT32);
  } else if (apiVersion === V1BETA1) makeExplicit(spec, 'revisionHistoryLimit', 2);
};

/** The Deployment controller reads the revision from the annotation that kube-apiserver converted the field to. */
function rollbackTo(object: JsonObject, spec: JsonObject, notes: Notes): void {
  const rollback = objectIn(spec, 'rollbackTo', 'spec');
  take(spec, 'rollbackTo');
  if (rollback === undefined) return;
  const { revision } = rollback;
  const isNumber = isUnset(revision) || typeof revision === 'number' || typeof revision === 'bigint';
  if (!isNumber) throw new Refusal('spec.rollbackTo.revision must be an integer');
  annotate(object, 'deprecated.deployment.rollback.to', String(revision ?? 0));
  notes.warn(
    'spec.rollbackTo became the annotation deprecated.deployment.rollback.to: use "kubectl rollout undo" instead',
  );
}

function annotate(object: JsonObject, key: string, value: string): void {
  const metadata = ensureObject(object, 'metadata', '');
  ensureObject(metadata, 'annotations', 'metadata')[key] = value;
}

const daemonSet: Convert = (object, _notes, apiVersion) => {
  const spec = specOf(object);
  labelsFromTemplate(object, spec, apiVersion);
  const generation = take(spec, 'templateGeneration');
  if (typeof generation === 'number' || typeof generation === 'bigint')
    annotate(object, 'deprecated.daemonset.template.generation', String(generation));
  else if (generation !== undefined) throw new Refusal('spec.templateGeneration must be an integer');
  if (apiVersion === EXTENSIONS) makeOnDelete(spec);
};

const statefulSet: Convert = (object, _notes, apiVersion) => {
  const spec = specOf(object);
  labelsFromTemplate(object, spec, apiVersion);
  if (apiVersion === V1BETA1) makeOnDelete(spec);
};

function makeOnDelete(spec: JsonObject): void {
  const strategy = ensureObject(spec, 'updateStrategy', 'spec');
  if (isEmpty(strategy['type'])) {
    strategy['type'] = 'OnDelete';
    // It has no effect with OnDelete.
    take(strategy, 'rollingUpdate');
  }
}

export const apps: readonly Row[] = [
  { from: [EXTENSIONS, V1BETA1, V1BETA2], kinds: ['Deployment'], to: V1, convert: deployment },
  { from: [EXTENSIONS, V1BETA2], kinds: ['DaemonSet'], to: V1, convert: daemonSet },
  { from: [EXTENSIONS, V1BETA2], kinds: ['ReplicaSet'], to: V1, convert: workload },
  // The table of removals lists it, although no release served it.
  { from: [V1BETA1], kinds: ['ReplicaSet'], to: V1, convert: workload },
  { from: [V1BETA1, V1BETA2], kinds: ['StatefulSet'], to: V1, convert: statefulSet },
  { from: [V1BETA1, V1BETA2], kinds: ['ControllerRevision'], to: V1 },
];

export const deadApps: readonly Dead[] = [
  {
    from: [EXTENSIONS, V1BETA1],
    kinds: ['DeploymentRollback'],
    reason: 'nothing replaces it: use "kubectl rollout undo"',
  },
  {
    from: [EXTENSIONS, V1BETA1, V1BETA2],
    kinds: ['Scale'],
    reason: 'it is a subresource, not an object: send autoscaling/v1 to the scale subresource',
  },
];
