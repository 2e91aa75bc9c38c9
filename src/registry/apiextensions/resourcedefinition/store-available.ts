import { deepCopy, type JsonObject, objectAt, textOf } from '../../../apimachinery/json/json.js';
import { conditionsOf } from '../../../apimachinery/meta/conditions.js';
import { formatTime, type KubeObject } from '../../../apimachinery/meta/meta.js';
import type { CachedObject } from '../../../storage/cacher/interfaces.js';
import { DetachedObject } from '../../../storage/detached-object.js';
import { encodeObject } from '../../../storage/encode.js';
import { encodedBytes } from '../../../storage/object-bytes.js';

/** The condition of a definition that tells of outages of the store. Absent before the first one. */
const TYPE = 'StoreAvailable';

/** Returns the definition as it is shown during an outage, in which no status can be written. `since`: when the store last answered. */
export function shownWithoutStore(definition: CachedObject, message: string, since: number): CachedObject {
  const condition = {
    type: TYPE,
    status: 'False',
    reason: 'StoreUnavailable',
    message,
    lastTransitionTime: formatTime(since),
  };
  const { key, revision } = definition;
  const { flags, ...encoded } = encodeObject(withCondition(definition.decode(), condition));
  return new DetachedObject({ key, revision, flags, bytes: encodedBytes({ flags, ...encoded }, revision) });
}

/**
 * Returns the definition as it is stored after an outage, so that watches tell everybody to whom `shownWithoutStore` was shown. Undefined
 * if another replica has already done so.
 */
export function afterOutage(
  definition: KubeObject,
  { began, ended }: { readonly began: number; readonly ended: number },
): KubeObject | undefined {
  const before = conditionsOf(definition).find(({ type }) => type === TYPE);
  const noted = Date.parse(textOf(before?.['lastTransitionTime']));
  // Times have whole seconds.
  if (noted >= began - 1_000) return undefined;
  const seconds = Math.round((ended - began) / 1_000);
  return withCondition(deepCopy(definition), {
    type: TYPE,
    status: 'True',
    reason: 'StoreAnswers',
    message: `the store answers again, after ${seconds} s`,
    lastTransitionTime: formatTime(ended),
  }) as KubeObject;
}

function withCondition(definition: JsonObject, condition: JsonObject): JsonObject {
  const kept = conditionsOf(definition).filter(({ type }) => type !== TYPE);
  definition['status'] = { ...objectAt(definition, 'status'), conditions: [...kept, condition] };
  return definition;
}
