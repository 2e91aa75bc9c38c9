/** How many times as large the larger input is, and how many times as much CPU time it may take: a quadratic one would take 64 times. */
const FACTOR = 8;
const ALLOWED = 32;
const ROUNDS = 6;

/**
 * How many times as much CPU time the larger of two inputs takes, in relation to what is allowed of linear growth: at most 1 if it is
 * linear, about 2 if it is quadratic. Neither the speed of the machine nor what else runs on it decides: the smallest time of several
 * rounds counts for either size, and rounds end as soon as the growth is seen to be linear.
 * @param size of the larger input
 * @param prepare makes the input of that size; what it returns is measured
 */
export function growth(size: number, prepare: (size: number) => () => unknown): number {
  // Compiled first, or the smaller would be measured cold.
  prepare(Math.floor(size / FACTOR))();
  let small = Infinity;
  let large = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    small = Math.min(small, cpuMicros(prepare(Math.floor(size / FACTOR))));
    large = Math.min(large, cpuMicros(prepare(size)));
    if (large <= small * ALLOWED) break;
  }
  return large / (small * ALLOWED);
}

function cpuMicros(run: () => unknown): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return Math.max(1, user + system);
}
