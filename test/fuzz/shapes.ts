import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/apimachinery/json/json.js';
import type { FuzzRequest } from './client.js';
import { utf8 } from './mutations.js';
import { pick } from './parts.js';

/** Everything that a structural schema can declare about ownership, in two versions that differ in it. */
const text: JsonObject = { type: 'string' };
const integer: JsonObject = { type: 'integer' };
const set = (items: JsonObject): JsonObject => ({ type: 'array', 'x-kubernetes-list-type': 'set', items });
const keyed = (keys: string[], required: string[], properties: JsonObject): JsonObject => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: { type: 'object', ...(required.length === 0 ? {} : { required }), properties },
});
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const ATOMIC: JsonObject = { 'x-kubernetes-map-type': 'atomic' };
const OPEN: JsonObject = { 'x-kubernetes-preserve-unknown-fields': true };
const EITHER: JsonObject = { 'x-kubernetes-int-or-string': true };

const port = {
  port: integer,
  protocol: { type: 'string', default: 'TCP' },
  name: text,
  opts: object({ a: text, b: integer }, ATOMIC),
  subs: keyed(['id'], ['id'], { id: integer, v: text, tags: set(text) }),
};
const spec = (version: 1 | 2): JsonObject =>
  object({
    ports: keyed(['port', 'protocol'], ['port'], port),
    lists: { type: 'array', items: { type: 'array', items: integer } },
    integers: set(integer),
    numbers: set({ type: 'number' }),
    setOfLists: set({ type: 'array', 'x-kubernetes-list-type': 'atomic', items: text }),
    setOfMaps: set(object({ a: text, b: integer }, ATOMIC)),
    switches: keyed(['on'], ['on'], { on: { type: 'boolean' }, x: text }),
    defaulted: keyed(['k'], [], { k: { type: 'string', default: 'd' }, x: { type: 'integer', default: 5 } }),
    topology:
      version === 1
        ? keyed(['name'], ['name'], { name: text, v: integer })
        : { type: 'array', items: object({ name: text, v: integer }) },
    granular: object({ a: text, b: text, c: object({ d: integer }) }, version === 1 ? {} : ATOMIC),
    either: EITHER,
    eithers: set(EITHER),
    open: object({ in: object({ a: text }), l: set(text) }, OPEN),
    any: OPEN,
    embedded: object({ spec: object({ x: integer }) }, { 'x-kubernetes-embedded-resource': true }),
    nullable: { type: 'string', nullable: true, default: 'nd' },
    optional: { type: 'string', nullable: true },
    filled: object(
      { e: { type: 'string', default: 'e' }, f: { type: 'integer', default: 1 }, g: object({ h: text }) },
      { default: {} },
    ),
    map: { type: 'object', additionalProperties: object({ x: integer, y: { type: 'string', default: 'y' } }) },
    atomicMap: { type: 'object', additionalProperties: text, ...ATOMIC },
    replicas: integer,
    [`only${String(version)}`]: text,
  });
const status = object({
  replicas: integer,
  selector: text,
  phase: text,
  conditions: keyed(['type'], ['type'], {
    type: text,
    status: { type: 'string', default: 'Unknown' },
    at: { type: 'string', format: 'date-time' },
  }),
});

export const SHAPES: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'shapes.fuzz.example.com' },
  spec: {
    group: 'fuzz.example.com',
    scope: 'Namespaced',
    names: { plural: 'shapes', singular: 'shape', kind: 'Shape', listKind: 'ShapeList' },
    versions: ([1, 2] as const).map((version) => ({
      name: `v${String(version)}`,
      served: true,
      storage: version === 1,
      schema: { openAPIV3Schema: object({ spec: spec(version), status }) },
      subresources: {
        status: {},
        scale: {
          specReplicasPath: '.spec.replicas',
          statusReplicasPath: '.status.replicas',
          labelSelectorPath: '.status.selector',
        },
      },
    })),
  },
};

type Values = fc.Arbitrary<JsonValue>;
const S: Values = pick(['a', 'b', 'c', 'ü', '']);
const I: Values = pick([0, 1, 2, 3, -1]);
const listOf = (one: Values, maxLength = 3): Values => fc.array(one, { maxLength });
const some = (of: Record<string, Values>, requiredKeys: string[] = []): Values => fc.record(of, { requiredKeys });
const mapOf = (keys: string[], one: Values): Values => fc.dictionary(pick(keys), one, { maxKeys: 3 });

const FIELDS: Record<string, Values> = {
  ports: listOf(
    some(
      {
        port: pick([1, 2, 80]),
        protocol: pick(['TCP', 'UDP', 'TCP']),
        name: S,
        opts: some({ a: S, b: I }),
        subs: listOf(some({ id: I, v: S, tags: listOf(S) }, ['id'])),
      },
      ['port'],
    ),
  ),
  lists: listOf(listOf(I)),
  integers: listOf(I, 4),
  numbers: listOf(pick([1, 1.5, 2, -0.5, 1e10]), 4),
  setOfLists: listOf(listOf(S, 2)),
  setOfMaps: listOf(some({ a: S, b: I })),
  switches: listOf(some({ on: fc.boolean(), x: S }, ['on']), 2),
  defaulted: listOf(some({ k: pick(['d', 'e', 'f']), x: I }), 2),
  topology: listOf(some({ name: S, v: I }, ['name'])),
  granular: some({ a: S, b: S, c: some({ d: I }) }),
  either: pick([1, '1', 'x', '10%']),
  eithers: listOf(pick([1, '1', 2, 'x'])),
  open: some({ in: some({ a: S, zz: I }), l: listOf(S), other: some({ p: I, q: listOf(S) }) }),
  any: pick<JsonValue>([1, 'x', { a: 1, b: { c: 2 } }, [1, { a: 2 }], [], {}, true, null]),
  embedded: some(
    {
      apiVersion: pick(['v1']),
      kind: pick(['Foo']),
      metadata: some({ name: pick(['n']), labels: pick<JsonValue>([{ a: 'b' }]), foo: I }),
      spec: some({ x: I, y: I }),
    },
    ['apiVersion', 'kind'],
  ),
  nullable: pick<JsonValue>(['q', null, '']),
  optional: pick<JsonValue>(['q', null]),
  filled: some({ e: S, f: I, g: some({ h: S }) }),
  map: mapOf(['a', 'b', 'c.d', 'e/f'], some({ x: I, y: S })),
  atomicMap: mapOf(['a', 'b', 'c'], S),
  replicas: I,
  only1: S,
  only2: S,
  unknown: I,
};
const ODD: Values = pick<JsonValue>([null, null, [], {}, 'x', 1, true, 1.5, [null], { a: null }]);
const MOST = 6;

/** Specs of a few fields, occasionally with an invalid value. */
const specs: fc.Arbitrary<JsonObject> = fc
  .uniqueArray(pick(Object.keys(FIELDS)), { maxLength: MOST })
  .chain((keys) =>
    fc.record(
      Object.fromEntries(
        keys.map((key) => [key, fc.oneof({ weight: 15, arbitrary: FIELDS[key] ?? S }, { weight: 1, arbitrary: ODD })]),
      ),
    ),
  );
const condition = some(
  { type: pick(['A', 'B', 'C']), status: pick(['True', 'False']), at: pick(['2020-01-01T00:00:00Z', 'x']) },
  ['type'],
);
const statuses = some({ replicas: I, selector: pick(['a=b', '']), conditions: listOf(condition), phase: S });

interface Ask {
  readonly version: string;
  readonly name: string;
  readonly manager: string;
  readonly spec: JsonObject;
  readonly status: JsonValue;
  readonly labels: JsonValue;
  readonly field: string;
  readonly at: string;
  readonly value: JsonValue;
  readonly force: string;
  readonly validation: string;
  readonly how:
    'apply' | 'merge' | 'put' | 'json' | 'statusApply' | 'statusMerge' | 'scaleApply' | 'scaleMerge' | 'get';
}

const asks: fc.Arbitrary<Ask> = fc.record({
  version: pick(['v1', 'v1', 'v1', 'v2']),
  name: pick(['s1', 's2']),
  manager: pick(['m', 'n', 'o']),
  spec: specs,
  status: statuses,
  labels: fc.option(some({ a: S, b: S })),
  field: pick(Object.keys(FIELDS)),
  at: pick(['', '', '/0', '/-', '/a']),
  value: fc.oneof(...Object.values(FIELDS)),
  force: pick(['', '&force=true', '&force=true', '&dryRun=All']),
  validation: pick(['', '', '&fieldValidation=Strict', '&fieldValidation=Warn']),
  how: pick([
    ...Array<'apply'>(9).fill('apply'),
    ...Array<'merge'>(3).fill('merge'),
    ...['put', 'put', 'json', 'json', 'statusApply', 'statusApply', 'statusMerge', 'scaleApply', 'scaleMerge', 'get'],
  ] as Ask['how'][]),
});

const patch = (path: string, type: string, body: JsonValue): FuzzRequest => ({
  method: 'PATCH',
  path,
  headers: { 'content-type': `application/${type}` },
  body: utf8(JSON.stringify(body)),
});

function request(ask: Ask): FuzzRequest {
  const { version, name, manager, force, validation } = ask;
  const path = `/apis/fuzz.example.com/${version}/namespaces/{ns}/shapes/${name}`;
  const by = `?fieldManager=${manager}`;
  const metadata = { name, ...(ask.labels === null ? {} : { labels: ask.labels }) };
  const shape = { apiVersion: `fuzz.example.com/${version}`, kind: 'Shape', metadata, spec: ask.spec };
  const scale = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name },
    spec: { replicas: ask.spec['replicas'] ?? 2 },
  };
  switch (ask.how) {
    case 'apply':
      return patch(`${path}${by}${force}${validation}`, 'apply-patch+yaml', shape);
    case 'merge':
      return patch(`${path}${by}${validation}`, 'merge-patch+json', { metadata, spec: ask.spec });
    case 'json': {
      const steps = [{ op: 'add', path: `/spec/${ask.field}${ask.at}`, value: ask.value }];
      return patch(`${path}${by}${validation}`, 'json-patch+json', steps);
    }
    case 'put':
      return {
        method: 'PUT',
        path: `${path}${by}${validation}`,
        headers: { 'content-type': 'application/json' },
        body: utf8(JSON.stringify({ ...shape, metadata: { ...metadata, resourceVersion: '{rv}' } })),
      };
    case 'statusApply':
      return patch(`${path}/status${by}${force}`, 'apply-patch+yaml', { ...shape, status: ask.status });
    case 'statusMerge':
      return patch(`${path}/status${by}`, 'merge-patch+json', { status: ask.status });
    case 'scaleApply':
      return patch(`${path}/scale${by}${force}`, 'apply-patch+yaml', scale);
    case 'scaleMerge':
      return patch(`${path}/scale${by}`, 'merge-patch+json', scale);
    case 'get':
      return { method: 'GET', path, headers: {} };
  }
}

/** Writes of two objects by three managers through two versions and both subresources. */
export const shapes: fc.Arbitrary<FuzzRequest> = asks.map(request);
