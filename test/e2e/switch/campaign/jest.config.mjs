import base from '../../jest.config.mjs';

/** Adoptions while parts of the cluster and of Annex fail, at random. */
export default {
  ...base,
  rootDir: '../../../..',
  roots: ['<rootDir>/test/e2e/switch/campaign'],
  testPathIgnorePatterns: [],
  testTimeout: 3_600_000,
};
