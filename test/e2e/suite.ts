import { TestCluster } from './cluster.js';

const START_MILLIS = 600_000;
const begun = performance.now();

/** Logs progress immediately: jest itself prints nothing until the end of a file. */
export function say(line: string): void {
  process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);
}

/** Describes tests on a cluster of their own, which runs before their own hooks do. Skips them, with the reason, if no cluster can be started. */
export function describeOnCluster(
  title: string,
  options: ConstructorParameters<typeof TestCluster>[0],
  tests: (cluster: TestCluster) => void,
): void {
  const missing = process.env['E2E_MISSING'] ?? '';
  const [described, name] = missing === '' ? [describe, title] : [describe.skip, `${title} (skipped: ${missing})`];
  described(name, () => {
    const cluster = new TestCluster(options);
    beforeAll(async () => {
      try {
        await cluster.start(say);
      } catch (error) {
        say(cluster.logs());
        throw error;
      }
    }, START_MILLIS);
    afterAll(() => cluster.stop(), START_MILLIS);
    beforeEach(() => {
      say((expect.getState().currentTestName ?? '').slice(title.length + 1));
    });
    tests(cluster);
  });
}
