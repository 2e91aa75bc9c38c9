import { CommanderError } from 'commander';
import { ClusterError } from '../../client/cluster-error.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { stringAt } from '../../apimachinery/json/json.js';
import { messageOf } from '../../util/error-message.js';

/** The exit codes: something failed or was refused, and the command was not used as it is meant. */
export const FAILED = 1;
const WRONG_USAGE = 2;

/** The command cannot do what it was asked. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** The arguments do not fit together. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A Status that the server answered with. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly status: number,
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }

  static of(status: number, body: JsonObject): Refusal {
    return new Refusal(status, stringAt(body, 'reason') ?? '', stringAt(body, 'message') ?? `status ${String(status)}`);
  }
}

/** Returns the lines that tell an error, and the exit code that goes with it. */
export function describe(error: unknown): { readonly text: string; readonly code: number } {
  if (error instanceof CommanderError) {
    const text = error.message.replace(/^error: /, '');
    return { text: error.exitCode === 0 ? '' : `error: ${text}`, code: error.exitCode === 0 ? 0 : WRONG_USAGE };
  }
  if (error instanceof UsageError) return { text: `error: ${error.message}`, code: WRONG_USAGE };
  if (error instanceof Refusal) {
    const reason = error.reason === '' ? '' : ` (${error.reason})`;
    return { text: `Error from server${reason}: ${error.message}`, code: FAILED };
  }
  if (error instanceof ClusterError && error.status === 0)
    return { text: `error: no answer from the server: ${error.message}`, code: FAILED };
  return { text: `error: ${messageOf(error)}`, code: FAILED };
}
