import { PassThrough } from 'node:stream';
import { createLogger, type Logger, type LoggerOptions } from './logger.js';

/** Returns the output of a logger. */
async function written(options: LoggerOptions, isTTY: boolean, log: (logger: Logger) => void): Promise<string> {
  const stream = Object.assign(new PassThrough(), { isTTY });
  const logger = createLogger(options, stream);
  log(logger);
  await logger.flush();
  return String(stream.read() as Buffer | null);
}

const HEADER = /^[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ annex\] /;

test('text has the format of klog', async () => {
  const text = await written({ verbosity: 0, format: 'text' }, false, (logger) => {
    logger.warn('says "hello"\nand more', { resp: 200, who: 'jane "x"', phases: { etcd: 3 }, absent: undefined });
  });
  expect(text).toMatch(HEADER);
  expect(text[0]).toBe('W');
  expect(text.replace(HEADER, '')).toBe(
    '"says \\"hello\\"\\nand more" resp=200 who="jane \\"x\\"" phases={"etcd":3}\n',
  );
});

test('json has one object per line', async () => {
  const text = await written({ verbosity: 3, format: 'json' }, true, (logger) => {
    logger.v(3, 'HTTP', { resp: 200 });
    logger.v(4, 'too much');
  });
  const { timestamp, ...rest } = JSON.parse(text) as Record<string, unknown>;
  expect(rest).toEqual({ level: 'info', message: 'HTTP', resp: 200, v: 3 });
  expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT/);
});

test.each([
  ['a terminal', true, HEADER],
  ['a file', false, /^\{/],
])('chooses the default format for %s', async (_name, isTTY, form) => {
  const text = await written({ verbosity: 0 }, isTTY, (logger) => {
    logger.error('oops');
  });
  expect(text).toMatch(form);
});
