import base from '../../e2e/jest.config.mjs';

/** The cluster of the e2e tests under load: `make bench-replicas`. */
export default {
  ...base,
  rootDir: '../../..',
  roots: ['<rootDir>/test/bench/replicas'],
  testMatch: ['**/*.bench.ts'],
  testTimeout: 900_000,
};
