import type { CommanderError } from 'commander';
import { type Command } from 'commander';
import type { Clock } from '../../util/clock.js';
import { countCommand } from './count.js';
import { deleteCommand } from './delete.js';
import { getCommand, watchCommand } from './get.js';
import { describe } from './failure.js';
import { viewsCommand } from './views.js';

/** The commands of `kubectl annex` that call a server as kubectl does. */
export function kubectlCommands(clock: Clock): Command[] {
  const commands = [getCommand, countCommand, watchCommand, deleteCommand, viewsCommand];
  return commands
    .map((make) => make(clock))
    .map((command) => command.exitOverride(exit).configureOutput({ outputError: () => undefined }));
}

/** kubectl's way of telling wrong usage, with the exit code 2. */
function exit(error: CommanderError): never {
  const { text, code } = describe(error);
  if (text !== '') process.stderr.write(`${text}\nSee --help.\n`);
  process.exit(code);
}
