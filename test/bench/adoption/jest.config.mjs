import base from '../../e2e/jest.config.mjs';

/** What it takes to copy and to switch a group, on a cluster of real parts with two kube-apiservers. */
export default {
  ...base,
  rootDir: '../../..',
  roots: ['<rootDir>/test/bench/adoption'],
  testMatch: ['**/*.bench.ts'],
  testPathIgnorePatterns: [],
  testTimeout: 3_000_000,
};
