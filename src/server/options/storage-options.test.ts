import { logOverrides } from './storage-options.js';

describe('--mongodb-log-overrides', () => {
  test('names types like the store', () => {
    expect([...logOverrides(['wgpolicyk8s.io/policyreports#reports', '/configmaps#core', '/events#core'])]).toEqual([
      ['policyreports.wgpolicyk8s.io', 'reports'],
      ['configmaps', 'core'],
      ['events', 'core'],
    ]);
    expect(logOverrides([]).size).toBe(0);
  });

  test.each([
    ['no log', 'g.io/things', 'must be of format: group/resource#log'],
    ['an empty log', 'g.io/things#', 'must be of format: group/resource#log'],
    ['no group', 'things#log', 'must be of format: group/resource#log'],
    ["a log with a dot, which a type's name could equal", 'g.io/things#a.b', 'must be of format: group/resource#log'],
    ['a log that is not a label', 'g.io/things#-a', 'must be of format: group/resource#log'],
  ])('%s', (_, override, reason) => {
    expect(() => logOverrides([override])).toThrow(`--mongodb-log-overrides invalid: "${override}" ${reason}`);
  });

  test('refuses a type that is given twice', () => {
    expect(() => logOverrides(['g.io/things#a', 'g.io/things#b'])).toThrow(
      '--mongodb-log-overrides invalid: g.io/things is given twice',
    );
  });
});
