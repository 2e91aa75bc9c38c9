import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { adoptionEvents } from './adoption-events.js';

const condition = (type: string, status: string, reason: string, message: string): JsonObject => ({
  ...{ type, status, reason, message },
  ...{ lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 },
});
const adoption = (phase: string, conditions: JsonObject[]): KubeObject => ({
  metadata: { name: 'example.com', uid: 'u' },
  status: { phase, conditions },
});

test.each([
  [
    'Copying',
    [condition('Copied', 'False', 'Copying', 'objects are being copied')],
    'Normal',
    'objects are being copied',
  ],
  ['InSync', [condition('InSync', 'True', 'Followed', 'both sides were equal')], 'Normal', 'both sides were equal'],
  ['Served', [condition('Ready', 'True', 'Served', 'Annex serves the group')], 'Normal', 'Annex serves the group'],
  ['Failed', [condition('Copied', 'False', 'NoDefinitions', 'there is none')], 'Warning', 'there is none'],
  [
    'Failed',
    [condition('Switched', 'False', 'Failed', 'given up'), condition('Ready', 'True', 'Failed', 'given up')],
    'Warning',
    'given up',
  ],
])('the event of the phase %s has the message of its condition', (phase, conditions, type, message) => {
  expect(adoptionEvents(adoption(phase, conditions))).toEqual([
    expect.objectContaining({ type, reason: phase, message }),
  ]);
});

test('conditions that block the switch, and admission that is not enforced after it, are warnings', () => {
  const conditions = [
    condition('InSync', 'True', 'Followed', 'equal'),
    condition('Switchable', 'False', 'RightsMissing', 'Annex may not list'),
    condition('AdmissionEnforced', 'False', 'NotEnforced', 'these are not enforced: a'),
    condition('Accepted', 'True', 'DefinitionsValid', 'fine'),
  ];
  expect(adoptionEvents(adoption('InSync', conditions)).map(({ type, reason }) => [type, reason])).toEqual([
    ['Normal', 'InSync'],
    ['Warning', 'RightsMissing'],
    ['Warning', 'NotEnforced'],
  ]);
});

test('an Adoption without a status has no events', () => {
  expect(adoptionEvents({ metadata: { name: 'example.com' } })).toEqual([]);
});

test('a changed message is not a new event, a new attempt is', () => {
  const facts = (message: string, observedGeneration: number): unknown =>
    adoptionEvents(
      adoption('Preparing', [{ ...condition('Ready', 'True', 'Preparing', message), observedGeneration }]),
    )[0]?.facts;
  expect(facts('one', 1)).toEqual(facts('two', 1));
  expect(facts('one', 1)).not.toEqual(facts('one', 2));
});
