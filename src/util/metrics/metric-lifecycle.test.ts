import { MetricLifecycles } from './metric-lifecycle.js';

const LIFECYCLES = {
  old_stable: { stability: 'STABLE', deprecated: 34 },
  old_alpha: { stability: 'ALPHA', deprecated: 36 },
  coming: { stability: 'BETA', deprecated: 37 },
} as const;

const none = { showHidden: false, disabled: [], allowed: new Map<string, ReadonlySet<string>>() };
const at = (minor: number): MetricLifecycles => new MetricLifecycles(LIFECYCLES, minor);

test('help texts begin with the stability', () => {
  const lifecycles = at(36);
  expect(lifecycles.register('new', 'What it is.')).toBe('[ALPHA] What it is.');
  expect(lifecycles.register('old_stable', 'What it is.')).toBe('[STABLE] (Deprecated since 1.34.0) What it is.');
  expect(lifecycles.register('coming', 'What it is.')).toBe('[BETA] What it is.');
  expect(lifecycles.deprecated()).toEqual(['old_stable']);
  expect([...lifecycles.byStability()]).toEqual([
    ['ALPHA', '', 1],
    ['STABLE', '1.34.0', 1],
    ['BETA', '1.37.0', 1],
  ]);
});

test.each([
  ['old_stable', 36, false],
  ['old_stable', 37, true],
  ['old_alpha', 35, false],
  ['old_alpha', 36, true],
])('%s at 1.%i is hidden: %s', (name, minor, hidden) => {
  const lifecycles = at(minor);
  expect(lifecycles.isWithheld(name)).toBe(hidden);
  lifecycles.configure({ ...none, showHidden: true });
  expect(lifecycles.isWithheld(name)).toBe(false);
  lifecycles.configure({ ...none, showHidden: true, disabled: [name] });
  expect(lifecycles.isWithheld(name)).toBe(true);
});

test('disallowed label values are counted together', () => {
  const lifecycles = at(36);
  const values = ['GET', '200'];
  expect(lifecycles.constrain('requests', ['verb', 'code'], values)).toBe(values);
  lifecycles.configure({ ...none, allowed: new Map([['requests,verb', new Set(['LIST'])]]) });
  expect(lifecycles.constrain('requests', ['verb', 'code'], values)).toEqual(['unexpected', '200']);
  expect(lifecycles.counts().unexpected).toBe(1);
});
