import { type Clock, sleep } from '../../util/clock.js';

const POLL_MILLIS = 1_000;

type PrintLine = (line: string) => void;

/** Prints a line to standard output. */
export const printLine: PrintLine = (line) => {
  process.stdout.write(`${line}\n`);
};

interface Wait {
  readonly clock: Clock;
  readonly millis: number;
  /** The error on timeout, followed by the last printed line. */
  readonly late: string;
}

/** Calls `look` once a second until it returns a value. Lines that `look` reports are printed when they change. */
export async function waitFor<T>(
  { clock, millis, late }: Wait,
  look: (sayChange: PrintLine) => Promise<T | undefined>,
): Promise<T> {
  const end = clock.monotonic() + millis;
  let shown = '';
  const sayChange = (line: string): void => {
    if (line !== shown) printLine(line);
    shown = line;
  };
  for (;;) {
    const found = await look(sayChange);
    if (found !== undefined) return found;
    if (clock.monotonic() >= end) throw new Error(shown === '' ? late : `${late}: ${shown}`);
    await sleep(clock, POLL_MILLIS);
  }
}
