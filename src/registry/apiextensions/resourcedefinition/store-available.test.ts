import type { JsonObject } from '../../../apimachinery/json/json.js';
import { conditionsOf } from '../../../apimachinery/meta/conditions.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { DetachedObject } from '../../../storage/detached-object.js';
import { encodeObject } from '../../../storage/encode.js';
import { encodedBytes } from '../../../storage/object-bytes.js';
import { afterOutage, shownWithoutStore } from './store-available.js';

const BEGAN = Date.UTC(2026, 0, 1, 12);
const ENDED = BEGAN + 312_000;
const definition = (...conditions: JsonObject[]): KubeObject => ({
  apiVersion: 'kubeannex.io/v1',
  kind: 'ResourceDefinition',
  metadata: { name: 'a' },
  spec: { group: 'example.com' },
  status: { conditions: [{ type: 'Registered', status: 'True' }, ...conditions] },
});

test('during an outage a definition shows a condition, and is otherwise as stored', () => {
  const encoded = encodeObject(definition());
  const stored = new DetachedObject({ key: 'a', revision: 7, flags: 0, bytes: encodedBytes(encoded, 7) });
  const shown = shownWithoutStore(stored, 'MongoDB has not answered for 20 s', BEGAN);
  const { status: _shown, ...rest } = shown.decode();
  const { status: _, ...before } = stored.decode();
  expect(rest).toEqual(before);
  expect(conditionsOf(shown.decode())).toEqual([
    { type: 'Registered', status: 'True' },
    {
      type: 'StoreAvailable',
      status: 'False',
      reason: 'StoreUnavailable',
      message: 'MongoDB has not answered for 20 s',
      lastTransitionTime: '2026-01-01T12:00:00Z',
    },
  ]);
  expect(shown.revision).toBe(7);
});

test('after an outage the condition is stored once, by one of the replicas', () => {
  const once = afterOutage(definition(), { began: BEGAN, ended: ENDED });
  expect(conditionsOf(once)).toEqual([
    { type: 'Registered', status: 'True' },
    {
      type: 'StoreAvailable',
      status: 'True',
      reason: 'StoreAnswers',
      message: 'the store answers again, after 312 s',
      lastTransitionTime: '2026-01-01T12:05:12Z',
    },
  ]);
  if (once === undefined) throw new Error('nothing is stored');
  expect(afterOutage(once, { began: BEGAN - 900, ended: ENDED + 1_500 })).toBeUndefined();
  expect(conditionsOf(afterOutage(once, { began: ENDED + 60_000, ended: ENDED + 90_000 }))).toHaveLength(2);
});
