import type { Command } from 'commander';
import type { Clock } from '../util/clock.js';
import { adoptCommand } from './adopt/command.js';
import { releaseCommand } from './adopt/release.js';
import { uninstallCheckCommand } from './adopt/uninstall-check.js';
import { attachCommand } from './detach/attach.js';
import { detachCommand } from './detach/detach.js';

/** The commands for operators of a cluster that Annex extends. */
export const clusterCommands = (clock: Clock): Command[] =>
  [adoptCommand, releaseCommand, uninstallCheckCommand, detachCommand, attachCommand].map((make) => make(clock));
