import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError } from '../apimachinery/meta/errors.js';
import { deepCopy, isObject, type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import { type KubeObject, type ManagedFieldsEntry, parseGroupVersion } from '../apimachinery/meta/meta.js';
import { BuiltinTypes } from '../structured-merge-diff/schema/builtin-types.js';
import { customResourceType, type Type } from '../structured-merge-diff/schema/custom-resource.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { emptyObjectOf } from '../apimachinery/scheme/empty-objects.js';
import { FieldManager } from './field-manager.js';

interface Step {
  op: 'create' | 'apply' | 'merge';
  manager: string;
  body: JsonObject;
  force?: boolean;
  subresource?: string;
  version?: string;
  status: number;
  live: KubeObject | null;
  answer: KubeObject;
}

interface Fixtures {
  definition: JsonObject;
  sequences: Record<string, Step[]>;
}

const root = process.cwd();
const fixtures = JSON.parse(readFileSync(join(root, 'src/managedfields/testdata/sequences.json'), 'utf8')) as Fixtures;
const openapi = join(root, 'data/openapi');
const builtin = new BuiltinTypes(
  readdirSync(openapi).map((name) => JSON.parse(readFileSync(join(openapi, name), 'utf8')) as JsonObject),
);

const spec = objectAt(fixtures.definition, 'spec')!;
const group = stringAt(spec, 'group')!;
const customTypes = new Map<string, Type>(
  (spec['versions'] as JsonObject[]).map((version) => [
    `${group}/${stringAt(version, 'name')!}`,
    customResourceType(objectAt(objectAt(version, 'schema'), 'openAPIV3Schema')),
  ]),
);

/** Applies the defaults of the first version of the definition. */
function applyDefaults(object: KubeObject): void {
  const custom = objectAt(object, 'spec');
  if (custom === undefined) return;
  custom['preset'] ??= 7;
  const ports = custom['ports'];
  if (Array.isArray(ports)) for (const port of ports) if (isObject(port)) port['protocol'] ??= 'TCP';
}

function managerOf(apiVersion: string, kind: string, subresource: string, clock: FakeClock): FieldManager {
  const gvk = { ...parseGroupVersion(apiVersion)!, kind };
  const common = { kind: gvk, subresource, clock };
  if (gvk.group !== group)
    return new FieldManager({ ...common, typeOf: () => builtin.typeOf(gvk), emptyObject: emptyObjectOf(gvk) });
  return new FieldManager({
    ...common,
    typeOf: (version) => customTypes.get(version),
    converter: {
      convert: (object, version) => {
        if (customTypes.has(version)) return { ...object, apiVersion: version };
        throw new Error(`request to convert CR to an invalid group/version: ${version}`);
      },
    },
    resetFields: subresource === 'status' ? { '*': [['spec'], ['metadata']] } : { '*': [['status']] },
    ...(gvk.version === 'v1' ? { applyDefaults } : {}),
  });
}

/** Returns the time of the newest entry, at which the server wrote. */
function writtenAt(answer: KubeObject): number {
  return Math.max(0, ...(answer.metadata.managedFields ?? []).map((entry) => Date.parse(entry.time ?? '1970-01-01')));
}

/** Returns the members that field managers do not change. */
function content(object: JsonObject): JsonObject {
  const { metadata, ...rest } = deepCopy(object);
  const { labels, annotations, finalizers, ownerReferences } = isObject(metadata) ? metadata : {};
  return { ...rest, metadata: { labels, annotations, finalizers, ownerReferences } };
}

function replay(step: Step): void {
  const body = step.answer.metadata.managedFields === undefined && step.live === null ? step.body : step.answer;
  const version =
    (step.version ?? '') === '' ? (step.body['apiVersion'] ?? step.live?.apiVersion) : `${group}/${step.version!}`;
  const kind = step.op === 'apply' ? (step.live?.kind ?? step.body['kind']) : body['kind'];
  const own = step.op === 'apply' && step.live !== null ? (step.live.apiVersion ?? '') : (version as string);
  const manager = managerOf(own, kind as string, step.subresource ?? '', new FakeClock(writtenAt(step.answer)));
  const before = JSON.stringify(step.live);
  const live = step.live ?? undefined;
  if (step.op === 'apply') {
    if (step.status >= 300 && step.status !== 422) {
      expect(
        errorOf(() => manager.apply(live, step.body, { manager: step.manager, force: step.force === true })),
      ).toEqual(sorted(step.answer));
      return;
    }
    const given = JSON.stringify(step.body);
    const object = manager.apply(live, step.body, { manager: step.manager, force: step.force === true });
    // 422: validation refuses the merged object later.
    if (step.status === 422) return;
    expectEntries(object, step.answer);
    expect(JSON.stringify(step.body)).toBe(given);
    if (group === parseGroupVersion(own)?.group && step.subresource === undefined) {
      const { status: _status, ...answered } = content(step.answer);
      const { status: _applied, ...applied } = content(object);
      expect(applied).toEqual(answered);
    }
  } else {
    const next = nextOf(step);
    const given = objectAt(step.body, 'metadata')?.['managedFields'];
    if (given === undefined) delete next.metadata.managedFields;
    else next.metadata.managedFields = given as ManagedFieldsEntry[];
    if (given === undefined && live?.metadata.managedFields !== undefined) {
      next.metadata.managedFields = deepCopy(live.metadata.managedFields);
    }
    manager.update(live, next, step.manager);
    expectEntries(next, step.answer);
  }
  expect(JSON.stringify(step.live)).toBe(before);
}

const SET_LATER: Record<string, readonly string[]> = {
  Pod: ['priority', 'preemptionPolicy'],
  Service: ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'],
};

/** Returns the object to store: the response without the fields that are set after the managers. */
function nextOf(step: Step): KubeObject {
  const next = deepCopy(step.answer);
  if (step.op !== 'create' || next.apiVersion?.startsWith(group) === true) {
    if (step.op === 'create' && next.apiVersion === `${group}/v2`) delete objectAt(next, 'spec')?.['preset'];
    return next;
  }
  const empty = emptyObjectOf({ ...parseGroupVersion(next.apiVersion ?? '')!, kind: next.kind ?? '' });
  if (next['status'] !== undefined) next['status'] = empty['status'];
  const { finalizers } = step.body['metadata'] as KubeObject['metadata'];
  if (finalizers === undefined) delete next.metadata.finalizers;
  const custom = objectAt(next, 'spec');
  for (const field of SET_LATER[next.kind ?? ''] ?? []) delete custom?.[field];
  if (isObject(step.body) && Array.isArray(step.body['rules']) && next['rules'] === null)
    next['rules'] = step.body['rules'];
  return next;
}

/**
 * toEqual() ignores the order of members, which matters in fieldsV1. kube-apiserver keeps it only for built-in types, because it
 * sorts all members of custom resources by name.
 */
function expectEntries(actual: KubeObject, expected: KubeObject): void {
  const entries = actual.metadata.managedFields;
  expect(entries).toEqual(expected.metadata.managedFields);
  if (expected.apiVersion?.startsWith(group) === true) return;
  expect(entries?.map((entry) => JSON.stringify(entry.fieldsV1))).toEqual(
    expected.metadata.managedFields?.map((entry) => JSON.stringify(entry.fieldsV1)),
  );
}

/** Sorts the causes, because conflicts with several managers come in any order. */
function sorted(status: JsonObject): JsonObject {
  const causes = objectAt(status, 'details')?.['causes'];
  if (Array.isArray(causes)) causes.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return status;
}

function errorOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return sorted(JSON.parse(JSON.stringify(error.status)) as JsonObject);
    throw error;
  }
  throw new Error('no error');
}

describe.each(Object.entries(fixtures.sequences))('%s', (_title, steps) => {
  test.each(steps.map((step, i) => [`${i + 1}: ${step.op} by ${step.manager}`, step] as const))('%s', (_name, step) => {
    replay(step);
  });
});
