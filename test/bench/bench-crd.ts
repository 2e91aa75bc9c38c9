import type { JsonObject } from '../../src/apimachinery/json/json.js';

const text = (rules: JsonObject = {}): JsonObject => ({ type: 'string', ...rules });
const count = (rules: JsonObject = {}): JsonObject => ({ type: 'integer', minimum: 0, ...rules });

/** The openAPIV3Schema of the objects that `benchObject` makes. */
export const BENCH_SCHEMA: JsonObject = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['seq', 'summary'],
      properties: {
        seq: text({ pattern: '^[0-9]{8}$' }),
        scope: {
          type: 'object',
          properties: {
            kind: text({ maxLength: 63 }),
            name: text({ maxLength: 253 }),
            namespace: text({ maxLength: 63 }),
          },
        },
        summary: {
          type: 'object',
          required: ['pass', 'fail', 'total'],
          properties: { pass: count(), fail: count(), skip: count({ default: 0 }), total: count() },
        },
        results: {
          type: 'array',
          maxItems: 1000,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['rule'],
          items: {
            type: 'object',
            required: ['rule', 'result'],
            properties: {
              rule: text({ maxLength: 253 }),
              policy: text({ maxLength: 253 }),
              result: text({ enum: ['pass', 'fail', 'skip'] }),
              severity: text({ enum: ['low', 'medium', 'high'] }),
              category: text(),
              message: text({ maxLength: 8192 }),
              source: text(),
              scored: { type: 'boolean' },
              timestamp: {
                type: 'object',
                properties: {
                  seconds: { type: 'integer', format: 'int64' },
                  nanos: { type: 'integer', format: 'int32' },
                },
              },
            },
          },
        },
      },
    },
    status: {
      type: 'object',
      properties: { phase: text(), observedGeneration: { type: 'integer', format: 'int64' } },
    },
  },
};
