/** The size ratio of the two inputs, and the ratio of CPU time that is allowed. Quadratic growth would take 64 times as long. */
const FACTOR = 8;
const ALLOWED = 32;
const ROUNDS = 6;

/**
 * Returns how many times as much CPU time the larger of two inputs takes, relative to what linear growth is allowed: at most 1 if it is
 * linear, about 2 if it is quadratic. The result depends neither on the speed of the machine nor on its other load: for either size,
 * the shortest time of several rounds counts, and the rounds end as soon as the growth proves to be linear.
 * @param size the size of the larger input
 * @param prepare creates an input of the given size; the function that it returns is measured
 */
export function growth(size: number, prepare: (size: number) => () => unknown): number {
  // Warm up the code first, or the smaller input would be measured cold.
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
