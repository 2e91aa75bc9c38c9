import type { Command } from 'commander';
import { foregroundClock, systemClock } from '../util/clock.js';
import { adoptCommand } from './adopt/command.js';
import { releaseCommand } from './adopt/release.js';
import { uninstallCheckCommand } from './adopt/uninstall-check.js';
import { completionCommand } from './completion.js';
import { convertCommand } from './convert/command.js';
import { attachCommand } from './detach/attach.js';
import { detachCommand } from './detach/detach.js';
import { kubeconfigCommand } from './kubeconfig.js';
import { tokenCommand } from './token.js';
import { versionCommand, type Versions } from './version.js';

/** Returns the commands beside `serve`, `doctor` and those of `kubectl annex`. */
export const otherCommands = (program: () => Command, versions: () => Versions): readonly Command[] => [
  convertCommand(systemClock),
  tokenCommand(),
  kubeconfigCommand(),
  adoptCommand(foregroundClock),
  releaseCommand(foregroundClock),
  uninstallCheckCommand(foregroundClock),
  detachCommand(foregroundClock),
  attachCommand(foregroundClock),
  versionCommand(versions),
  completionCommand(program),
];
