import { ADOPTION_LAST_REVISION, ADOPTION_STAGE } from '../protocol/names.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { AdoptedDefinitions } from './adopted-definitions.js';

const adopted = new AdoptedDefinitions();

function definition(stage: string, resourceVersion: string, last?: string): KubeObject {
  const annotations = { [ADOPTION_STAGE]: stage, ...(last !== undefined && { [ADOPTION_LAST_REVISION]: last }) };
  return { metadata: { name: 'widgets.example.com', resourceVersion, annotations }, spec: {} };
}

test('lists of a leaving type show the last revision of its definition, on each replica', () => {
  expect(adopted.relist(definition('Closing', '50'), undefined)).toBeUndefined();
  const returning = adopted.relist(definition('Returning', '51', '1050'), undefined);
  expect(returning?.since).toBe(1050);
  expect(adopted.relist(definition('Left', '60', '1050'), returning)).toBe(returning);
});

test('a replica that has missed the end of an earlier return shows the last revision of the present one', () => {
  const earlier = adopted.relist(definition('Returning', '51', '1050'), undefined);
  expect(adopted.relist(definition('Returning', '5000', '6000'), earlier)?.since).toBe(6000);
});

test('the stage of an older version of Annex, which names no revision, begins with that of the definition', () => {
  const returning = adopted.relist(definition('Returning', '51'), undefined);
  expect(returning?.since).toBe(51);
  expect(adopted.relist(definition('Left', '60'), returning)).toBe(returning);
});
