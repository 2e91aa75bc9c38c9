import { ADOPTION_LAST_REVISION, ADOPTION_STAGE } from '../../apimachinery/meta/adopted-definitions.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { leavingOf } from './leaving.js';

function definition(stage: string, resourceVersion: string, last?: string): KubeObject {
  const annotations = { [ADOPTION_STAGE]: stage, ...(last !== undefined && { [ADOPTION_LAST_REVISION]: last }) };
  return { metadata: { name: 'widgets.example.com', resourceVersion, annotations }, spec: {} };
}

test('lists of a leaving type show the last revision of its definition, on each replica', () => {
  expect(leavingOf(definition('Closing', '50'), undefined)).toBeUndefined();
  const returning = leavingOf(definition('Returning', '51', '1050'), undefined);
  expect(returning?.since).toBe(1050);
  expect(leavingOf(definition('Left', '60', '1050'), returning)).toBe(returning);
});

test('a replica that has missed the end of an earlier return shows the last revision of the present one', () => {
  const earlier = leavingOf(definition('Returning', '51', '1050'), undefined);
  expect(leavingOf(definition('Returning', '5000', '6000'), earlier)?.since).toBe(6000);
});

test('the stage of an older version of Annex, which names no revision, begins with that of the definition', () => {
  const returning = leavingOf(definition('Returning', '51'), undefined);
  expect(returning?.since).toBe(51);
  expect(leavingOf(definition('Left', '60'), returning)).toBe(returning);
});
