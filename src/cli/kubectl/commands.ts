import type { CommanderError } from 'commander';
import { type Command } from 'commander';
import type { Clock } from '../../util/clock.js';
import { getCommand } from './get.js';
import { describe } from './failure.js';

/** The commands of `kubectl annex` that call a server as kubectl does. */
export function kubectlCommands(clock: Clock): Command[] {
  return [getCommand(clock)].map((command) =>
    command.exitOverride(exit).configureOutput({ outputError: () => undefined }),
  );
}

/** kubectl's way of telling wrong usage, with the exit code 2. */
function exit(error: CommanderError): never {
  const { text, code } = describe(error);
  if (text !== '') process.stderr.write(`${text}\nSee --help.\n`);
  process.exit(code);
}
