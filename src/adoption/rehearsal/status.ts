import { GIVEN_UP } from '../protocol/condition.js';
import { conditionsOf, transitionTime } from '../../apimachinery/meta/conditions.js';
import { type JsonObject, objectAt } from '../../apimachinery/json/json.js';
import { formatTime, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { Comparison } from './comparison.js';
import type { CopyState } from './copier.js';
import type { AdoptionCondition } from '../protocol/condition.js';

/** The progress of one resource of the group. */
export interface ResourceProgress {
  readonly plural: string;
  readonly copy: CopyState;
  /** The last comparison and its time; undefined before the first. */
  readonly comparison: (Comparison & { readonly at: number }) | undefined;
}

/** Everything that an Adoption's status is built from. */
export interface Progress {
  readonly leader: string;
  readonly resources: readonly ResourceProgress[];
  /** Why nothing can be copied; '' if it can. */
  readonly problem: string;
  readonly problemReason: string;
  /** Why Annex could not serve the cluster's definitions; '' if it could. */
  readonly refusal: string;
}

/** Builds the status of an Adoption; conditions that do not change keep their transition times. */
export function statusOf(
  adoption: KubeObject,
  progress: Progress,
  readiness: readonly AdoptionCondition[],
  now: number,
): JsonObject {
  const { resources } = progress;
  const before = conditionsOf(adoption);
  const generation = adoption.metadata.generation ?? 0;
  // The outcome of an earlier return is kept, and that of a switch that is tried again.
  const kept = before.filter(
    ({ type, reason, observedGeneration }) =>
      type === 'Returned' || (type === 'Switched' && reason === GIVEN_UP && observedGeneration === generation),
  );
  const wayBack = objectAt(objectAt(adoption, 'status'), 'return');
  const phase = progress.problem !== '' ? 'Failed' : isInSync(progress) ? 'InSync' : 'Copying';
  const conditions = [...progressConditions(progress), ...readiness, ...beforeSwitch(phase)]
    .filter(([type]) => !kept.some((one) => one['type'] === type))
    .map(([type, holds, reason, message]) => {
      const status = holds ? 'True' : 'False';
      const old = before.find((one) => one['type'] === type);
      const lastTransitionTime = transitionTime(old, status, now);
      return { type, status, reason, message, lastTransitionTime, observedGeneration: generation };
    });
  const sum = (of: (state: CopyState) => number): number => resources.reduce((all, { copy }) => all + of(copy), 0);
  const lag = Math.max(0, ...resources.map(({ copy }) => copy.lagSeconds));
  return {
    phase,
    copied: `${sum(({ copied }) => copied)}/${sum(({ source }) => source)}`,
    lag: `${lag}s`,
    observedGeneration: generation,
    leader: progress.leader,
    resources: resources.map(resourceStatus),
    ...(wayBack !== undefined && { return: wayBack }),
    conditions: [...conditions, ...kept],
  };
}

/**
 * The conditions that a switch sets later, so that clients can wait for them from the first status on. Not in the phase Failed, where
 * Switched says that a switch has failed.
 */
function beforeSwitch(phase: string): AdoptionCondition[] {
  if (phase === 'Failed') return [];
  return (['Switched', 'Ready'] as const).map((type) => [type, false, phase, 'the cluster serves the group']);
}

function resourceStatus({ plural, copy, comparison }: ResourceProgress): JsonObject {
  return {
    resource: plural,
    source: copy.source,
    copied: copy.copied,
    bytes: copy.bytes,
    lagSeconds: copy.lagSeconds,
    ...(comparison !== undefined && {
      digest: comparison.digest,
      comparedTime: formatTime(comparison.at),
      differences: comparison.differences,
      invalid: comparison.invalid,
    }),
    ...(copy.trouble !== '' && { message: copy.trouble.slice(0, 1024) }),
  };
}

const isCopied = ({ resources }: Progress): boolean =>
  resources.length > 0 && resources.every(({ copy }) => copy.complete);

const isFollowed = ({ resources }: Progress): boolean => resources.every(({ copy }) => copy.lagSeconds === 0);

const isEqual = ({ resources }: Progress): boolean =>
  resources.every(({ comparison }) => comparison !== undefined && comparison.differences === 0);

const isInSync = (progress: Progress): boolean =>
  progress.problem === '' && isCopied(progress) && isFollowed(progress) && isEqual(progress);

function progressConditions(progress: Progress): AdoptionCondition[] {
  const { problem, problemReason, refusal, resources } = progress;
  const trouble = resources.find(({ copy }) => copy.trouble !== '')?.copy.trouble;
  const copied: AdoptionCondition =
    problem !== ''
      ? ['Copied', false, problemReason, problem]
      : isCopied(progress)
        ? ['Copied', true, 'AllCopied', 'all objects have been copied']
        : ['Copied', false, trouble === undefined ? 'Copying' : 'ClusterError', trouble ?? 'objects are being copied'];
  return [
    copied,
    ['InSync', ...inSync(progress)],
    refusal === ''
      ? ['Accepted', true, 'DefinitionsValid', `Annex can serve the definitions of the group${invalidText(resources)}`]
      : ['Accepted', false, 'DefinitionInvalid', refusal],
  ];
}

function invalidText(resources: readonly ResourceProgress[]): string {
  const invalid = resources.reduce((sum, { comparison }) => sum + (comparison?.invalid ?? 0), 0);
  if (invalid === 0) return '';
  const example = resources.find(({ comparison }) => (comparison?.invalid ?? 0) > 0)?.comparison?.invalidExample ?? '';
  const text = `; ${invalid} objects predate their schema and do not validate against it; they are copied unchanged, for example ${example}`;
  return text.slice(0, 900);
}

function inSync(progress: Progress): [holds: boolean, reason: string, message: string] {
  if (isInSync(progress))
    return [true, 'Followed', 'changes are followed, and both sides were equal when they were compared'];
  if (!isCopied(progress)) return [false, 'NotCopied', 'not all objects have been copied yet'];
  const different = progress.resources.find(({ comparison }) => (comparison?.differences ?? 0) > 0);
  if (different?.comparison !== undefined) {
    const { differences, example } = different.comparison;
    return [false, 'Different', `${differences} ${different.plural} differ, for example ${example}`];
  }
  if (!isEqual(progress)) return [false, 'Comparing', 'both sides are being compared'];
  return [false, 'Behind', 'changes are not being followed'];
}
