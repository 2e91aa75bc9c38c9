import base from '../../e2e/jest.config.mjs';

/** Measures the cost of copying and switching a group, in a cluster of real components with two kube-apiservers. */
export default {
  ...base,
  rootDir: '../../..',
  roots: ['<rootDir>/test/bench/adoption'],
  testMatch: ['**/*.bench.ts'],
  testPathIgnorePatterns: [],
  testTimeout: 3_000_000,
};
