import { withFlagsBeside } from './beside.js';

const cmdline =
  (...args: string[]): (() => string) =>
  () =>
    `${args.join('\0')}\0`;
const SERVER = ['--service-name=annex', '--storage-backend=mongodb'];

describe('the flags of the server that runs beside the doctor', () => {
  test.each<[string, string[], string[]]>([
    ['are taken', [], SERVER],
    [
      'are taken with options of the output',
      ['-o', 'json', '--verify-store'],
      [...SERVER, '-o', 'json', '--verify-store'],
    ],
    ['are taken with a value that looks like one', ['--output=json'], [...SERVER, '--output=json']],
    ['are not mixed with others', ['--data-dir', '/d'], ['--data-dir', '/d']],
  ])('%s', (_, given, wanted) => {
    const server = cmdline('/nodejs/bin/node', '--enable-source-maps', '/annex/lib/annex.js', 'serve', ...SERVER);
    expect(withFlagsBeside(given, server)).toEqual(wanted);
  });

  test.each<[string, () => string]>([
    ['another program', cmdline('/sbin/init', 'splash')],
    ['a program that serves something else', cmdline('python3', 'serve', '--port=1')],
    ['another command of Annex', cmdline('node', '/annex/lib/annex.js', 'doctor')],
    [
      'one that may not be read',
      () => {
        throw new Error('EACCES');
      },
    ],
  ])('are not taken from %s', (_, other) => {
    expect(withFlagsBeside([], other)).toEqual([]);
  });
});
