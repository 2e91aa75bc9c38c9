import type { JsonObject } from '../../src/apimachinery/json/json.js';
import type { KubeObject } from '../../src/apimachinery/meta/meta.js';
import { FieldManager } from '../../src/managedfields/field-manager.js';
import { customResourceType } from '../../src/structured-merge-diff/schema/custom-resource.js';
import { systemClock } from '../../src/util/clock.js';

/** Microseconds per create, update, and apply of a report-like object of 2 and 20 KiB. */

delete (Object.prototype as { __proto__?: unknown }).__proto__;

const text = { type: 'string' };
const number = { type: 'integer' };
const struct = (properties: JsonObject): JsonObject => ({ type: 'object', properties });
const results = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['rule'],
  items: struct({
    rule: text,
    policy: text,
    result: text,
    severity: text,
    category: text,
    message: text,
    source: text,
    scored: { type: 'boolean' },
    timestamp: struct({ seconds: number, nanos: number }),
  }),
};
const schema = struct({
  spec: struct({
    seq: text,
    scope: struct({ kind: text, name: text, namespace: text }),
    summary: struct({ pass: number, fail: number, skip: number, total: number }),
    results,
  }),
  status: struct({ phase: text }),
});

const manager = new FieldManager({
  kind: { group: 'bench.example.com', version: 'v1', kind: 'Bench' },
  subresource: '',
  typeOf: () => type,
  resetFields: { '*': [['status']] },
  clock: systemClock,
});
const type = customResourceType(schema);

function object(items: number): KubeObject {
  return {
    apiVersion: 'bench.example.com/v1',
    kind: 'Bench',
    metadata: {
      name: 'report-1',
      namespace: 'default',
      labels: { 'app.kubernetes.io/managed-by': 'policy-engine', bucket: '7' },
      annotations: { 'bench.example.com/shard': '3' },
    },
    spec: {
      seq: '00000000',
      scope: { kind: 'Deployment', name: 'app-1', namespace: 'default' },
      summary: { pass: items - 1, fail: 1, skip: 0, total: items },
      results: Array.from({ length: items }, (_, i) => ({
        rule: `check-required-labels-${String(i).padStart(4, '0')}`,
        policy: `require-labels-${i % 20}`,
        result: 'pass',
        severity: 'low',
        category: 'Pod Security Standards (Baseline)',
        message: `validation rule 'check-required-labels' finished, trace ${'0123456789abcdef'.repeat(4)}`,
        source: 'policy-engine',
        scored: true,
        timestamp: { seconds: 1700000000 + i, nanos: 0 },
      })),
    },
  };
}

function stored(item: KubeObject): KubeObject {
  item.metadata = {
    ...item.metadata,
    uid: 'u-1',
    resourceVersion: '5',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  return item;
}

const setSeq = (item: KubeObject, value: number): void => {
  (item['spec'] as JsonObject)['seq'] = String(value).padStart(8, '0');
};

/** `make` prepares the arguments; its cost is not counted. */
function measure<T>(name: string, rounds: number, make: (round: number) => T, run: (argument: T) => unknown): void {
  const batch = 200;
  let spent = 0;
  const times: number[] = [];
  for (let round = 0; round < rounds; round += batch) {
    const batchArguments = Array.from({ length: batch }, (_, i) => make(round + i));
    const start = performance.now();
    for (const argument of batchArguments) run(argument);
    const took = performance.now() - start;
    if (round >= rounds / 2) {
      spent += took;
      times.push((took * 1000) / batch);
    }
  }
  times.sort((a, b) => a - b);
  const mean = (spent * 1000) / (times.length * batch);
  process.stdout.write(
    `${name.padEnd(34)} mean ${mean.toFixed(1).padStart(7)} us   median ${(times[times.length >> 1] ?? 0).toFixed(1).padStart(7)} us\n`,
  );
}

const parse = (json: string): KubeObject => JSON.parse(json) as KubeObject;

for (const [label, items, rounds] of [
  ['2 KiB', 5, 20000],
  ['20 KiB', 47, 4000],
] as const) {
  const plain = JSON.stringify(object(items));
  const created = JSON.stringify(stored(manager.update(undefined, parse(plain), 'creator')));
  const applied = JSON.stringify(stored(manager.apply(undefined, parse(plain), { manager: 'applier', force: false })));
  process.stdout.write(`${label}: ${plain.length} bytes as sent, ${created.length} stored\n`);
  measure(
    `${label} create`,
    rounds,
    () => parse(plain),
    (next) => manager.update(undefined, next, 'creator'),
  );
  const change = (json: string, round: number): { live: KubeObject; next: KubeObject } => {
    const next = parse(json);
    setSeq(next, round + 1);
    return { live: parse(json), next };
  };
  measure(
    `${label} update, same manager`,
    rounds,
    (round) => change(created, round),
    ({ live, next }) => manager.update(live, next, 'creator'),
  );
  measure(
    `${label} update, another manager`,
    rounds,
    (round) => change(created, round),
    ({ live, next }) => manager.update(live, next, 'editor'),
  );
  measure(
    `${label} update, nothing changed`,
    rounds,
    () => ({ live: parse(created), next: parse(created) }),
    ({ live, next }) => manager.update(live, next, 'creator'),
  );
  measure(
    `${label} update, entries missing`,
    rounds,
    (round) => {
      const next = parse(plain);
      setSeq(next, round + 1);
      return { live: parse(created), next };
    },
    ({ live, next }) => manager.update(live, next, 'creator'),
  );
  measure(
    `${label} create by apply`,
    rounds,
    () => parse(plain),
    (config) => manager.apply(undefined, config, { manager: 'applier', force: false }),
  );
  measure(
    `${label} apply a change`,
    rounds,
    (round) => {
      const config = parse(plain);
      setSeq(config, round + 1);
      return { live: parse(applied), config };
    },
    ({ live, config }) => manager.apply(live, config, { manager: 'applier', force: false }),
  );
  measure(
    `${label} apply nothing new`,
    rounds,
    () => ({ live: parse(applied), config: parse(plain) }),
    ({ live, config }) => manager.apply(live, config, { manager: 'applier', force: false }),
  );
  measure(
    `${label} apply without an item`,
    rounds,
    () => {
      const config = parse(plain);
      ((config['spec'] as JsonObject)['results'] as unknown[]).pop();
      return { live: parse(applied), config };
    },
    ({ live, config }) => manager.apply(live, config, { manager: 'applier', force: false }),
  );
  let unique = 0;
  measure(
    `${label} update, sets never met before`,
    Math.min(rounds, 4000),
    (round) => {
      const text = created.replaceAll('check-required-labels-', `check-${unique++}-`);
      return change(text, round);
    },
    ({ live, next }) => manager.update(live, next, 'creator'),
  );
}
