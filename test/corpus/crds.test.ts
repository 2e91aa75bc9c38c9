import { type JsonObject, deepEqual, stringAt } from '../../src/apimachinery/json/json.js';
import type { KubeObject } from '../../src/apimachinery/meta/meta.js';
import { customResourceDefinitionStrategy } from '../../src/registry/apiextensions/customresourcedefinition/strategy.js';
import type { RequestContext } from '../../src/request/context.js';
import { Corpus, type Served, comparable, create, expectedMessages, servedVersions } from './corpus.js';

const corpus = new Corpus();
const strategy = customResourceDefinitionStrategy;
const context = {} as RequestContext;

/** Returns the errors and warnings of a definition's creation. */
function createDefinition(path: string): { errors: string[]; warnings: string[] } {
  const crd = corpus.read(path) as KubeObject;
  strategy.prepareForCreate?.(context, crd);
  const errors = strategy.validateCreate(context, crd).map(String);
  const warnings = strategy.warningsOnCreate?.(context, crd) ?? [];
  return { errors, warnings: warnings.map((text) => `Warning: ${text}`) };
}

describe.each(Object.entries(corpus.projects))('%s', (_, project) => {
  const served = new Map<string, Served>();
  for (const path of Object.keys(project.crds)) {
    for (const [key, version] of servedVersions(corpus.read(path))) served.set(key, version);
  }

  test('accepts its definitions with the recorded warnings', () => {
    for (const [path, answer] of Object.entries(project.crds)) {
      expect({ path, ...createDefinition(path) }).toEqual({ path, errors: [], warnings: answer.warnings ?? [] });
    }
  });

  test('answers its objects as recorded', () => {
    for (const [path, answers] of Object.entries(project.samples)) {
      const sample = corpus.read(path);
      const key = `${stringAt(sample, 'apiVersion') ?? ''}/${stringAt(sample, 'kind') ?? ''}`;
      const type = served.get(key);
      if (type === undefined) throw new Error(`${path}: no definition of ${key}`);
      for (const mode of ['strict', 'ignore'] as const) {
        const answer = answers[mode];
        if (answer === undefined) continue;
        const result = create(sample, type, mode === 'strict');
        const messages = answer.outcome === 'accepted' ? [] : expectedMessages(answer.message);
        const got = { path, mode, outcome: result.outcome, messages: [...result.messages].sort() };
        expect(got).toEqual({ path, mode, outcome: answer.outcome, messages: messages.sort() });
        const returned = corpus.objects[path];
        if (result.outcome === 'accepted' && returned !== undefined) expectSame(path, result.object, returned);
      }
    }
  });
});

/** Compares quickly first: the matcher walks large objects much more slowly. */
function expectSame(path: string, got: JsonObject, wanted: JsonObject): void {
  const [a, b] = [comparable(got), comparable(wanted)];
  if (!deepEqual(a, b)) expect({ path, object: a }).toEqual({ path, object: b });
}

test('the corpus is complete', () => {
  const projects = Object.values(corpus.projects);
  expect(projects.reduce((sum, { crds }) => sum + Object.keys(crds).length, 0)).toBe(148);
  expect(projects.reduce((sum, { samples }) => sum + Object.keys(samples).length, 0)).toBe(727);
});
