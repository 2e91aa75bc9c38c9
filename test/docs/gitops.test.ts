import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { fromJson, kubernetesEnvironment, types } from '../../packages/cel/src/index.js';

interface Kustomization {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly healthCheckExprs?: readonly { readonly current: string; readonly failed: string }[];
    readonly dependsOn?: readonly { readonly name: string }[];
  };
}

const guide = readFileSync(join(__dirname, '../../docs/gitops.md'), 'utf8');
const text = /## Flux[^]*?```yaml\n([^]*?)```/.exec(guide)?.[1] ?? '';
const [definitions, reports] = parseAllDocuments(text).map((document) => document.toJS() as Kustomization);
const checks = definitions?.spec.healthCheckExprs?.[0];
const adopting = readFileSync(join(__dirname, '../../docs/adopting-a-crd.md'), 'utf8');
const [ofAdoptions] = parseAllDocuments(/```yaml\n(healthCheckExprs:[^]*?)```/.exec(adopting)?.[1] ?? '').map(
  (document) => document.toJS() as Kustomization['spec'],
);

/**
 * Evaluates the checks as Flux does (RFC 0009), without its rule for observedGeneration, which definitions do not have. An error gives no
 * verdict yet.
 */
function judge(status: JsonObject | undefined, by = checks): string {
  const environment = kubernetesEnvironment('new').extend([{ name: 'status', type: types.DYN }]);
  for (const [verdict, source] of [
    ['Failed', by?.failed],
    ['Current', by?.current],
  ] as const) {
    const { program, failure } = environment.compile(source ?? '');
    if (program === undefined) throw new Error(failure.text);
    const outcome = program.evaluate(status === undefined ? {} : { status: fromJson(status) });
    if (outcome.kind !== 'value') return 'InProgress';
    if (outcome.value === true) return verdict;
  }
  return 'InProgress';
}

const condition = (type: string, status: string) => ({ type, status, reason: 'Why', message: 'because' });
const accepted = condition('NamesAccepted', 'True');

test.each<[string, JsonObject | undefined, string]>([
  ['one that was just created', undefined, 'InProgress'],
  ['one without conditions', {}, 'InProgress'],
  ['one that is served, not registered yet', { acceptedNames: { plural: 'x' }, conditions: [accepted] }, 'InProgress'],
  ['one that is registered', { conditions: [accepted, condition('Registered', 'True')] }, 'Current'],
  ['one whose group version is taken', { conditions: [accepted, condition('Registered', 'False')] }, 'Failed'],
  ['one without names', { conditions: [condition('NamesAccepted', 'False')] }, 'Failed'],
])('the guide’s health check of Flux: %s', (_, status, verdict) => {
  expect(judge(status)).toBe(verdict);
});

test.each<[string, JsonObject | undefined, string]>([
  ['one that was just created', undefined, 'InProgress'],
  ['one that is copied', { phase: 'Copying' }, 'InProgress'],
  ['one that is rehearsed', { phase: 'InSync' }, 'Current'],
  ['one that is switched', { phase: 'Served' }, 'Current'],
  ['one that failed', { phase: 'Failed' }, 'Failed'],
])('the guide’s health check of Flux for Adoptions: %s', (_, status, verdict) => {
  expect(judge(status, ofAdoptions?.healthCheckExprs?.[0])).toBe(verdict);
});

test('objects depend on their definitions', () => {
  expect(reports?.spec.dependsOn).toEqual([{ name: definitions?.metadata.name }]);
});
