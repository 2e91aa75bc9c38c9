import { type Clock, sleep } from '../clock.js';

const RELOAD_MILLIS = 60_000;

export interface FileReloadOptions {
  /** Calls back when the file may have changed, until the signal aborts. */
  readonly watch: (changed: () => void, signal: AbortSignal) => void;
  /** Reads the file and applies it. Must not reject. */
  readonly reload: () => Promise<void>;
  readonly clock: Clock;
}

/**
 * Reloads whenever a change is detected and every minute, until the signal aborts. Only one reload runs at a time; a change that is
 * detected meanwhile triggers another one.
 */
export function reloadOnChange({ watch, reload, clock }: FileReloadOptions, signal: AbortSignal): void {
  let reading = false;
  let again = false;
  const readWhileChanged = async (): Promise<void> => {
    while (again && !signal.aborted) {
      again = false;
      await reload();
    }
    reading = false;
  };
  const check = (): void => {
    again = true;
    if (reading || signal.aborted) return;
    reading = true;
    void readWhileChanged();
  };
  const everyMinute = async (): Promise<void> => {
    for (;;) {
      await sleep(clock, RELOAD_MILLIS, signal);
      if (signal.aborted) return;
      check();
    }
  };
  watch(check, signal);
  void everyMinute();
}
