import type { JsonObject } from '../../src/apimachinery/json/json.js';

/** Returns `length` hexadecimal digits that depend on the seed. */
function padding(length: number, seed: number): string {
  let state = (seed * 2654435761 + 12345) >>> 0;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += state.toString(16).padStart(8, '0');
  }
  return text.slice(0, length);
}

/** Returns a report like those of policy engines, of about `size` bytes of JSON. */
export function benchObject(index: number, size: number): JsonObject {
  const count = Math.max(1, Math.floor((size - 500) / 420));
  const results = Array.from({ length: count }, (_, k) => ({
    rule: `check-required-labels-${String(k).padStart(4, '0')}`,
    policy: `require-labels-${String(k % 20).padStart(2, '0')}`,
    result: k === 0 ? 'fail' : 'pass',
    severity: ['low', 'medium', 'high'][k % 3] ?? 'low',
    category: 'Pod Security Standards (Baseline)',
    message: `validation rule 'check-required-labels' finished, trace ${padding(64, 1000 * index + k)}`,
    source: 'policy-engine',
    scored: true,
    timestamp: { seconds: 1_700_000_000 + index, nanos: 0 },
  }));
  return {
    apiVersion: 'bench.example.com/v1',
    kind: 'Bench',
    metadata: {
      name: `bench-${String(index)}`,
      namespace: 'default',
      labels: { 'app.kubernetes.io/managed-by': 'policy-engine', bucket: String(index % 100) },
      annotations: { 'bench.example.com/shard': String(index % 7) },
    },
    spec: {
      seq: String(index).padStart(8, '0'),
      scope: { kind: 'Deployment', name: `app-${String(index)}`, namespace: 'default' },
      summary: { pass: count - 1, fail: 1, skip: 0, total: count },
      results,
    },
  };
}
