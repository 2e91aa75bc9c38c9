import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      'dist/',
      '.cache/',
      'node_modules/',
      'coverage/',
      'src/apimachinery/generated/',
      '**/*.cjs',
      'test/**/*.mjs',
      'jest.config.js',
      'eslint.config.js',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // JSON objects are open maps, which code reads with brackets and changes with delete.
      '@typescript-eslint/no-dynamic-delete': 'off',
      'no-control-regex': 'off',
      // An error that a user sees says all; a cause could carry a token, or a key, into a log.
      'preserve-caught-error': 'off',
    },
  },
  {
    files: ['src/**/*.ts', 'packages/**/*.ts'],
    ignores: ['**/*.test.ts', 'packages/*/test/'],
    // A table may be longer, and disables the rule with a comment.
    rules: {
      'max-lines': ['error', { max: 400 }],
      'max-lines-per-function': ['error', { max: 60, IIFEs: true }],
    },
  },
  {
    // Contracts, which are implemented elsewhere.
    files: ['src/registry/rest/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', 'ClassDeclaration', 'FunctionDeclaration', 'VariableDeclaration'],
    },
  },
  { files: ['**/*.test.ts', 'test/**/*.ts'], rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },
);
