/** Sources are ES modules; under jest SWC turns them, and the few dependencies that are ES modules only, into CommonJS. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/packages', '<rootDir>/test'],
  // Tests that start processes run slowly on a busy machine. This timeout ends tests that hang; each wait has a shorter timeout of its own.
  testTimeout: 300_000,
  testMatch: ['**/*.test.ts'],
  // `make e2e` runs these on a cluster.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/e2e/'],
  setupFiles: ['<rootDir>/test/setup.ts'],
  // The setup builds the program if it is out of date; the teardown searches the logs of all servers for secrets.
  globalSetup: '<rootDir>/test/global-setup.ts',
  globalTeardown: '<rootDir>/test/secrecy/leaks.ts',
  moduleNameMapper: {
    '^@annex/cel/parser$': '<rootDir>/packages/cel/src/parser/index.ts',
    '^@annex/cel/re2$': '<rootDir>/packages/cel/src/re2/re2.ts',
    '^@annex/([a-z0-9]+)$': '<rootDir>/packages/$1/src/index.ts',
    '^@annex/([a-z0-9]+)/(.+)$': '<rootDir>/packages/$1/src/$2.ts',
    '^cborg$': '<rootDir>/node_modules/cborg/cborg.js',
    '^fast-check$': '<rootDir>/test/fast-check.cjs',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.(t|j|mj)s$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  transformIgnorePatterns: ['/node_modules/(?!(jose|cborg|@bufbuild|@noble|re2js)/)'],
  cacheDirectory: '<rootDir>/.cache/jest',
};
