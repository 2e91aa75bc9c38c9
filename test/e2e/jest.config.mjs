import base from '../../jest.config.js';

/** One file, against one cluster; it needs programs that only `make e2e` provides. */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/e2e'],
  testPathIgnorePatterns: ['test/e2e/switch'],
  testTimeout: 400_000,
};
