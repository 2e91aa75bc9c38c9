import { Random } from './random.js';

/** Drives a model through one schedule. */
export interface Explorer {
  /** The steps so far. */
  readonly trace: readonly string[];
  /** Throws if the model is violated. */
  run(steps: number): Promise<void>;
}

interface Schedules<E> {
  readonly schedules: number;
  readonly steps: number;
  /** Called after each schedule. */
  readonly done?: (explorer: E) => void;
}

/** Runs this many schedules, or those whose seeds ANNEX_MODEL_SEED names. An error names the seed and the last steps. */
export async function explore<E extends Explorer>(
  explorerOf: (random: Random) => E,
  { schedules, steps, done }: Schedules<E>,
): Promise<void> {
  for (const seed of seedsOf(schedules)) {
    const explorer = explorerOf(new Random(seed));
    try {
      await explorer.run(steps);
    } catch (error) {
      const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new Error(`ANNEX_MODEL_SEED=${String(seed)}: ${why}\nlast steps:\n${explorer.trace.slice(-40).join('\n')}`);
    }
    done?.(explorer);
  }
}

function seedsOf(schedules: number): number[] {
  const given = process.env['ANNEX_MODEL_SEED'];
  return given === undefined ? Array.from({ length: schedules }, (_, i) => 1 + i) : given.split(',').map(Number);
}
