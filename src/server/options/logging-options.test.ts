import { parseOptions } from './command-line.js';
import { loggerOptions } from './logging-options.js';

test.each(['json', 'text'])('--logging-format=%s', (format) => {
  expect(loggerOptions(parseOptions({ loggingFormat: [format], v: ['4'] }))).toEqual({ verbosity: 4, format });
});

test('the format depends on the terminal if unset', () => {
  expect(loggerOptions(parseOptions({}))).toEqual({ verbosity: 0, format: undefined });
});

test('refuses an unknown format with the message of kube-apiserver', () => {
  expect(() => parseOptions({ loggingFormat: ['xml'] })).toThrow(
    'format: Invalid value: "xml": Unsupported log format',
  );
});
