import { conditionsOf } from '../../apimachinery/meta/conditions.js';
import { objectAt, stringAt, textOf } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { EventContent } from '../../controllers/object-events.js';

/** The status that makes a condition bad news. */
const BAD: Readonly<Record<string, string>> = {
  Accepted: 'False',
  AdmissionEnforced: 'False',
  DependentsOutside: 'True',
  Discovered: 'False',
  Returned: 'False',
  Switchable: 'False',
};
/** The condition that describes a phase. */
const PHASE_CONDITIONS: Readonly<Record<string, string>> = { Copying: 'Copied', InSync: 'InSync' };

/** Returns the news about an Adoption: its phase, and conditions that are bad. */
export function adoptionEvents(adoption: KubeObject): EventContent[] {
  const conditions = conditionsOf(adoption);
  const phase = stringAt(objectAt(adoption, 'status'), 'phase') ?? '';
  const find = (name: string) => conditions.find(({ type }) => type === name);
  const wanted = phase === 'Failed' && find('Switched') === undefined ? 'Copied' : (PHASE_CONDITIONS[phase] ?? 'Ready');
  const about = find(wanted);
  const news: EventContent[] = conditions
    .filter((condition) => BAD[textOf(condition['type'])] === condition['status'])
    .map(({ type, reason, message, lastTransitionTime }) => ({
      type: 'Warning',
      reason: textOf(reason),
      message: textOf(message),
      facts: [type, reason, lastTransitionTime],
    }));
  if (phase === '' || about === undefined) return news;
  const { lastTransitionTime, message, observedGeneration } = about;
  news.unshift({
    type: phase === 'Failed' ? 'Warning' : 'Normal',
    reason: phase,
    message: textOf(message),
    facts: ['phase', phase, lastTransitionTime, PHASE_CONDITIONS[phase] === undefined ? observedGeneration : ''],
  });
  return news;
}
