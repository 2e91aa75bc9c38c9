import { parseOptions } from './command-line.js';
import { loggerOptions } from './logging-options.js';

test.each(['json', 'text'])('--logging-format=%s', (format) => {
  expect(loggerOptions(parseOptions({ loggingFormat: [format], v: ['4'] }))).toEqual({ verbosity: 4, format });
});

test('unset, the terminal decides', () => {
  expect(loggerOptions(parseOptions({}))).toEqual({ verbosity: 0, format: undefined });
});

test('an unknown format is refused in the words of kube-apiserver', () => {
  expect(() => parseOptions({ loggingFormat: ['xml'] })).toThrow(
    'format: Invalid value: "xml": Unsupported log format',
  );
});
