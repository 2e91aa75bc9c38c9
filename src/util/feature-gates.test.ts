import { FeatureGates } from './feature-gates.js';

function gates(emulation = 36): FeatureGates {
  const made = new FeatureGates();
  made.emulate({ emulation, minCompatibility: emulation - 1 });
  return made;
}

describe('feature gates', () => {
  test.each([
    ['Nothing=true', 'unrecognized feature gate: Nothing'],
    ['WatchList', 'missing bool value for WatchList'],
    ['WatchList=maybe', 'invalid value of WatchList: maybe, it must be true or false'],
    [
      'AuthorizeWithSelectors=false',
      'cannot set feature gate AuthorizeWithSelectors to false, feature is locked to true',
    ],
  ])('%s is refused', (text, message) => {
    expect(() => {
      gates().set(text);
    }).toThrow(message);
  });

  test('a locked gate can be disabled at an emulated version that had it in beta', () => {
    const emulated = gates(33);
    emulated.set('AuthorizeWithSelectors=false,AuthorizeNodeWithSelectors=false');
    expect(emulated.enabled('AuthorizeWithSelectors')).toBe(false);
  });

  test('a feature cannot be enabled without its dependencies', () => {
    expect(() => {
      gates(33).set('AuthorizeWithSelectors=false');
    }).toThrow(
      'AuthorizeNodeWithSelectors is enabled, but depends on features that are disabled: [AuthorizeWithSelectors]',
    );
  });

  test('defaults are those of the emulated version', () => {
    expect(gates(33).enabled('ListFromCacheSnapshot')).toBe(false);
    expect(gates(34).enabled('ListFromCacheSnapshot')).toBe(true);
  });

  test('only setting a GA gate produces a warning', () => {
    const some = gates();
    some.set('AuthorizeWithSelectors=true,WatchList=true');
    expect(some.warnings).toEqual([
      'setting GA feature gate AuthorizeWithSelectors=true, which will be removed in a future release',
    ]);
  });
});
