import type { KeptPolicy, PolicyState } from './interfaces.js';
import {
  changePolicy,
  defaultPolicy,
  dueStates,
  effectivePolicy,
  KEEP_DELETED,
  KEEP_NOTHING,
  SHORTENING_MILLIS,
} from './policies.js';

const policy = (part: Partial<KeptPolicy>): KeptPolicy => ({ ...KEEP_NOTHING, ...part });
const initial: PolicyState = { policy: KEEP_DELETED, isDefault: true, earlier: undefined };

test.each([
  ['widgets.example.com', {}, KEEP_DELETED],
  ['configmaps', {}, KEEP_DELETED],
  ['resourcedefinitions.kubeannex.io', {}, KEEP_DELETED],
  ['configmaps', { encrypted: true }, KEEP_NOTHING],
  ['secrets', {}, KEEP_NOTHING],
  ['events', {}, KEEP_NOTHING],
  ['events.events.k8s.io', {}, KEEP_NOTHING],
  ['leases.coordination.k8s.io', {}, KEEP_NOTHING],
  ['shared-keys.internal.kubeannex.io', {}, KEEP_NOTHING],
  ['logs.main.kubeannex.io', {}, KEEP_NOTHING],
])('the default of %s %j', (resource, how, expected) => {
  expect(defaultPolicy(resource, how)).toBe(expected);
});

describe('a change of the policy', () => {
  test('takes effect at once if it keeps more', () => {
    const longer = policy({ keepDeletedFor: 2 * KEEP_DELETED.keepDeletedFor, keepRevisionsFor: 5 });
    expect(changePolicy(initial, longer, 100, false)).toEqual({ policy: longer, isDefault: false, earlier: undefined });
  });

  test('takes effect 24 h later if it keeps less of anything', () => {
    const other = policy({ keepDeletedFor: 10, keepRevisionsFor: 7 });
    const state = changePolicy(initial, other, 100, false);
    expect(state.earlier).toEqual({ policy: KEEP_DELETED, until: 100 + SHORTENING_MILLIS });
    expect(effectivePolicy(state, 99 + SHORTENING_MILLIS)).toEqual({ ...KEEP_DELETED, keepRevisionsFor: 7 });
    expect(effectivePolicy(state, 100 + SHORTENING_MILLIS)).toBe(other);
  });

  test('does not end an earlier policy that still holds', () => {
    const once = changePolicy(initial, policy({ keepDeletedFor: 20 }), 0, false);
    const twice = changePolicy(once, policy({ keepDeletedFor: 10 }), 50, false);
    expect(twice.earlier).toEqual({ policy: KEEP_DELETED, until: 50 + SHORTENING_MILLIS });
    const back = changePolicy(twice, KEEP_DELETED, 60, true);
    expect(back).toEqual({ policy: KEEP_DELETED, isDefault: true, earlier: undefined });
  });

  test('to the same value does not extend an earlier policy', () => {
    const once = changePolicy(initial, KEEP_NOTHING, 0, false);
    expect(changePolicy(once, KEEP_NOTHING, 500, true).earlier).toEqual(once.earlier);
  });

  test('treats 0 as no limit', () => {
    const few = policy({ ...KEEP_DELETED, maxBytes: 5, maxRevisionsPerObject: 3 });
    expect(changePolicy(initial, few, 0, false).earlier?.policy).toEqual(KEEP_DELETED);
    const fewer = { policy: few, isDefault: false, earlier: undefined };
    expect(changePolicy(fewer, KEEP_DELETED, 0, true).earlier).toBeUndefined();
  });
});

describe('states that are due', () => {
  const revision = (key: string, at: number, bytes = 1) => ({ key, at, bytes, deletion: false });
  const deletion = (key: string, at: number, bytes = 1) => ({ key, at, bytes, deletion: true });

  test('are those past their time', () => {
    const states = [revision('a', 0), deletion('a', 0), revision('a', 5), deletion('a', 6)];
    expect(dueStates(states, policy({ keepDeletedFor: 10, keepRevisionsFor: 4 }), 9)).toEqual([states[0], states[2]]);
    expect(dueStates(states, policy({ keepDeletedFor: 10, keepRevisionsFor: 4 }), 10)).toEqual(states.slice(0, 3));
  });

  test('are the oldest of an object beyond the number, but no deletions', () => {
    const states = [deletion('a', 0), revision('a', 1), revision('b', 2), revision('a', 3), revision('a', 4)];
    const limited = policy({ keepDeletedFor: 10, keepRevisionsFor: 10, maxRevisionsPerObject: 2 });
    expect(dueStates(states, limited, 5)).toEqual([states[1]]);
  });

  test('are the oldest beyond the bytes, deletions last', () => {
    const states = [deletion('a', 0, 5), revision('a', 1, 5), revision('b', 2, 5), deletion('b', 3, 5)];
    const kept = { keepDeletedFor: 10, keepRevisionsFor: 10 };
    expect(dueStates(states, policy({ ...kept, maxBytes: 19 }), 5)).toEqual([states[1]]);
    expect(dueStates(states, policy({ ...kept, maxBytes: 5 }), 5)).toEqual([states[0], states[1], states[2]]);
    expect(dueStates(states, policy({ ...kept, maxBytes: 20 }), 5)).toEqual([]);
  });
});
