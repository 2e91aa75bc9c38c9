// Prints how many tests passed and failed, from jest's report; a suite that could not run is a failure, and so is a jest
// that failed though all tests passed.
//   node hack/jest-counts.mjs REPORT EXIT-STATUS
import { readFileSync } from 'node:fs';

const [report, status] = process.argv.slice(2);
const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(readFileSync(report, 'utf8'));
const failed = numFailedTests + numRuntimeErrorTestSuites;
console.log(`${numPassedTests} ${failed === 0 && status !== '0' ? 1 : failed}`);
