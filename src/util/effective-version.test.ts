import { EffectiveVersion } from './effective-version.js';

const of = (emulated: string[], compatible: string[] = []): unknown => {
  const version = new EffectiveVersion();
  try {
    version.set(emulated, compatible);
  } catch (error) {
    return (error as Error).message;
  }
  return [version.emulation, version.minCompatibility];
};

/** The results of kube-apiserver v1.37.2. */
test.each<[string, string[], string[], unknown]>([
  ['nothing', [], [], [37, 36]],
  ['a version', ['1.35'], [], [35, 34]],
  ['of the component', ['kube=1.34'], [], [34, 34]],
  ['with a v', ['v1.34'], [], [34, 34]],
  ['the oldest', ['1.34'], [], [34, 34]],
  ['the current', ['1.37'], ['1.34'], [37, 34]],
  ['no version', ['abc'], [], 'could not parse "abc" as version'],
  ['no version of the component', ['kube=abc'], [], 'could not parse "abc" as version'],
  ['too short', ['1'], [], 'illegal version string "1"'],
  ['too long', ['1.35.1'], [], 'patch version not allowed, got: kube=1.35.1'],
  ['of another component', ['foo=1.35'], [], 'component not registered: foo'],
  ['twice', ['kube=1.35', 'kube=1.34'], [], 'duplicate version flag, kube=1.35 and kube=1.34'],
  [
    'too old',
    ['1.33'],
    [],
    '[emulation version 1.33 is not between [1.34, 1.37.0], minCompatibilityVersion version 1.34 is not between [1.34, 1.33]]',
  ],
  ['too new', ['1.38'], [], 'emulation version 1.38 is not between [1.34, 1.37.0]'],
  ['from the future', ['2.0'], [], 'emulation version 2.0 is not between [1.34, 1.37.0]'],
  [
    'only compatible with later ones',
    ['1.34'],
    ['1.35'],
    'minCompatibilityVersion version 1.35 is not between [1.34, 1.34]',
  ],
  ['compatible with old ones', [], ['1.33'], 'minCompatibilityVersion version 1.33 is not between [1.34, 1.37]'],
])('%s', (_, emulated, compatible, expected) => {
  expect(of(emulated, compatible)).toEqual(expected);
});
