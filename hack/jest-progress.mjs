// A jest reporter that prints one line per suite, with the time since the start and the failures.
import { relative } from 'node:path';

const clock = (millis) => {
  const seconds = Math.floor(millis / 1000);
  return `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, '0')}`;
};

/** Time for the global teardown and the report, in milliseconds. */
const END_MILLIS = 60_000;

export default class Progress {
  #start = Date.now();
  #done = 0;

  onTestResult(test, result, { numTotalTestSuites }) {
    this.#done += 1;
    const { numPassingTests: passed, numFailingTests: failed, numPendingTests: skipped, perfStats } = result;
    const bad = failed > 0 || result.testExecError != null;
    const counts = [
      `${passed} passed`,
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ];
    const took = ((perfStats.end - perfStats.start) / 1000).toFixed(1);
    const name = relative(process.cwd(), test.path);
    console.log(
      `${clock(Date.now() - this.#start)} ${bad ? 'FAIL' : 'ok  '} ${this.#done}/${numTotalTestSuites} ${name}: ${counts.join(', ')} (${took} s)`,
    );
    if (bad) console.log(result.failureMessage ?? '');
  }

  onRunComplete(contexts, { testResults }) {
    const slowest = testResults
      .map(({ testFilePath, perfStats }) => ({
        path: relative(process.cwd(), testFilePath),
        seconds: (perfStats.end - perfStats.start) / 1000,
      }))
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, 10);
    console.log('The slowest suites:');
    for (const { path, seconds } of slowest) console.log(`  ${seconds.toFixed(1).padStart(6)} s ${path}`);
    // Anything that a test leaves open is a failure, and must not delay the steps after jest.
    setTimeout(() => {
      console.log(`jest does not end by itself; still open: ${process.getActiveResourcesInfo().join(', ')}`);
      process.exit(1);
    }, END_MILLIS).unref();
  }
}
