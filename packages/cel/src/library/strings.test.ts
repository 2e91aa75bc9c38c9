import { kubernetesEnvironment } from '../kubernetes.js';

const environment = kubernetesEnvironment('new');

/** Characters outside of the Basic Multilingual Plane count as one character each, like runes in Go. */
test.each([
  "'a😀b'.charAt(1) == '😀'",
  "'a😀b'.charAt(2) == 'b'",
  "'a😀b'.charAt(3) == ''",
  "'a😀b😀b'.indexOf('b') == 2",
  "'a😀b😀b'.indexOf('b', 3) == 4",
  "'a😀b😀b'.lastIndexOf('b') == 4",
  "'a😀b😀b'.lastIndexOf('b', 3) == 2",
  "'a😀b'.substring(2) == 'b'",
  "'a😀b'.substring(1, 2) == '😀'",
  "'a😀b'.split('') == ['a', '😀', 'b']",
  "'😀a😀'.split('', 2) == ['😀', 'a😀']",
  "'a😀b'.split('😀') == ['a', 'b']",
  "'a😀b'.replace('', '-') == '-a-😀-b-'",
  "'a😀b'.replace('', '-', 2) == '-a-😀b'",
  "'a😀b'.replace('😀', 'c') == 'acb'",
  "size('a😀b') == 3",
  "'a😀b'.upperAscii() == 'A😀B'",
  "['😀', 'b'].join('-') == '😀-b'",
])('%s', (source) => {
  const { program, failure } = environment.compile(source);
  if (program === undefined) throw new Error(failure.issues.map(({ message }) => message).join());
  expect(program.evaluate({})).toMatchObject({ kind: 'value', value: true });
});
