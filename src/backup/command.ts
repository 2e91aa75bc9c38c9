import { type Command, InvalidArgumentError, Option } from 'commander';
import { commandOfFlags } from '../server/options/command-line.js';
import type { BackupFlags, RestoreFlags } from './flags.js';
import { FlagError } from '../server/options/flags.js';
import type { Clock } from '../util/clock.js';

const own = (syntax: string, text: string): Option => new Option(syntax, text).helpGroup('Backup flags:');
const types = (text: string): Option =>
  own(
    '--types <list>',
    `${text} Types as plural.group, or plural in the core group, separated by commas; all types by default.`,
  )
    .argParser((value: string, before: readonly string[]) => [
      ...before,
      ...value.split(',').filter((type) => type !== ''),
    ])
    .default([], 'all');

/** Returns the command `annex backup`, with the flags of `annex serve` and its own. */
export function backupCommand(clock: Clock): Command {
  const what =
    'Writes all objects of the store, as they are at one revision, to a file. The server may run and write meanwhile. Its flags name the store.';
  const command: Command = commandOfFlags('backup', what, async (options) => {
    const flags = command.opts<BackupFlags>();
    if (flags.output === '') throw new FlagError('--output must name a file, a directory, or - for standard output');
    const { backup } = await import('./backup.js');
    // Standard output may be the backup.
    process.stderr.write(`${await backup(options, flags, clock)}\n`);
  });
  const output =
    'The file to write, which appears when it is complete; in a directory, a file named annex-<time>-<revision>.backup. -: standard output.';
  return command
    .addOption(own('--output <file>', output).default('', 'none'))
    .addOption(
      own('--keep <int>', 'With a directory: keeps this number of its newest backups; 0: all.')
        .argParser(count)
        .default(0),
    )
    .addOption(types('What to back up.'));
}

/** Returns the command `annex restore`, with the flags of `annex serve` and its own. */
export function restoreCommand(clock: Clock): Command {
  const what =
    'Restores a backup into an empty store, of either kind. The whole file is checked before anything is written. No server may use the store.';
  const command: Command = commandOfFlags('restore', what, async (options) => {
    const flags = command.opts<RestoreFlags>();
    if (flags.input === '') throw new FlagError('--input must name a file that annex backup has written');
    const { restore } = await import('./restore.js');
    process.stdout.write(`${await restore(options, flags, clock)}\n`);
  });
  const above =
    'The store continues above this revision. It must be at least the last revision of the store that is lost. 0: more than any store can have reached since the backup.';
  return command
    .addOption(own('--input <file>', 'The file that annex backup has written.').default('', 'none'))
    .addOption(own('--continue-above <int>', above).argParser(count).default(0))
    .addOption(types('What to restore.'));
}

function count(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It must be a number of at least 0.');
  return value;
}
