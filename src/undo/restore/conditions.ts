import { Timestamp } from '@annex/cel';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { labelSelectorFromObject } from '../../apimachinery/selectors/label-selector-object.js';
import { compileWhere } from '../../asking/where.js';
import type { StoredApi } from '../../registry/generic/store/api-registry.js';
import { DetachedObject } from '../../storage/detached-object.js';
import type { Condition } from '../../storage/cacher/interfaces.js';
import type { KeptContent } from '../../storage/kept/interfaces.js';
import { messageOf } from '../../util/error-message.js';
import { RestoreFailed } from './failed.js';
import type { RestoreSpec } from './spec.js';

/** What decides whether a candidate is selected, besides its key. */
export interface Conditions {
  readonly labels: ((labels: Readonly<Record<string, string>> | undefined) => boolean) | undefined;
  /** Returns the condition of `where` on a type. */
  readonly where: ((api: StoredApi) => Condition) | undefined;
  readonly isNarrow: boolean;
}

export const EVERYTHING: Conditions = { labels: undefined, where: undefined, isNarrow: false };

export function conditionsOf({ labelSelector, where }: RestoreSpec, now: number): Conditions {
  const labels = labelSelector === undefined ? undefined : selectorOf(labelSelector);
  return {
    labels,
    where:
      where === ''
        ? undefined
        : ({ served }) => {
            try {
              return compileWhere(where, served, new Timestamp(Math.floor(now / 1000), 0));
            } catch (error) {
              throw new RestoreFailed('InvalidExpression', messageOf(error));
            }
          },
    isNarrow: labels !== undefined || where !== '',
  };
}

function selectorOf(selector: JsonObject): NonNullable<Conditions['labels']> {
  try {
    const compiled = labelSelectorFromObject(selector);
    return (labels) => compiled.matches(labels);
  } catch (error) {
    throw new RestoreFailed('InvalidLabelSelector', messageOf(error));
  }
}

export function matches(where: Condition, key: string, { revision, bytes, flags }: KeptContent): boolean {
  try {
    return where.matches(new DetachedObject({ key, revision, bytes, flags })) === true;
  } catch {
    return false;
  }
}
