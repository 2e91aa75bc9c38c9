import { conditionsOf } from '../../apimachinery/meta/conditions.js';
import { textOf } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { EventContent } from '../object-events.js';

/** The status that makes a condition bad news. */
const BAD: Readonly<Record<string, string>> = {
  KubernetesAPIApprovalPolicyConformant: 'False',
  NamesAccepted: 'False',
  NonStructuralSchema: 'True',
  Registered: 'False',
};
/** Returns the conditions of a definition that have turned bad. */
export const definitionEvents = (definition: KubeObject): EventContent[] =>
  conditionsOf(definition)
    .filter((condition) => BAD[textOf(condition['type'])] === condition['status'])
    .map(({ type, reason, message, lastTransitionTime }) => ({
      type: 'Warning',
      reason: textOf(reason),
      message: textOf(message),
      facts: [type, reason, message, lastTransitionTime],
    }));
