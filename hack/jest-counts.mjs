// Prints how many tests passed and failed, from jest's report. A suite that could not run counts as a failure, and so does a jest
// run that failed although all tests passed.
//   node hack/jest-counts.mjs REPORT EXIT-STATUS
import { readFileSync } from 'node:fs';

const [report, status] = process.argv.slice(2);
const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(readFileSync(report, 'utf8'));
const failed = numFailedTests + numRuntimeErrorTestSuites;
console.log(`${numPassedTests} ${failed === 0 && status !== '0' ? 1 : failed}`);
