import base from '../jest.config.mjs';

/** Switches of adoptions, against a cluster of its own with two kube-apiservers. */
export default {
  ...base,
  rootDir: '../../..',
  roots: ['<rootDir>/test/e2e/switch'],
  testPathIgnorePatterns: ['test/e2e/switch/campaign'],
};
