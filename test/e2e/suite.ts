import { TestCluster } from './cluster.js';

const START_MILLIS = 600_000;
const begun = performance.now();

/** Says what is going on, while it goes on: jest itself is silent until the end of a file. */
export function say(line: string): void {
  process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);
}

/**
 * Describes tests on a cluster of their own, which is there before their own hooks run; skips them, with the reason, where there can be
 * none.
 */
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
