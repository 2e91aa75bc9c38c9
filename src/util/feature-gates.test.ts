import { FeatureGates } from './feature-gates.js';

function gates(emulation = 37): FeatureGates {
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

  test('a gate does not exist at emulated versions before it', () => {
    expect(() => {
      gates(36).set('ExcludeAdmissionWebhookVirtualResources=true');
    }).toThrow(
      'cannot set feature gate ExcludeAdmissionWebhookVirtualResources to true, feature is PreAlpha at emulated version 1.36, min compatibility version 1.35',
    );
  });

  test('defaults are those of the emulated version', () => {
    expect(gates(36).enabled('AllowUnsafeMalformedObjectDeletion')).toBe(false);
    expect(gates(37).enabled('AllowUnsafeMalformedObjectDeletion')).toBe(true);
  });

  test('only setting a GA gate produces a warning', () => {
    const some = gates();
    some.set('AuthorizeWithSelectors=true,WatchList=true');
    expect(some.warnings).toEqual([
      'setting GA feature gate AuthorizeWithSelectors=true, which will be removed in a future release',
    ]);
  });
});
