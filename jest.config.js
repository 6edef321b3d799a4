import { testsByTier } from './test/setup/tiers.mjs';

/** What a file's name may have that means something in a pattern. */
const escaped = (path) => path.replace(/[()[\]{}!+@*?]/g, '\\$&');

/** @type {import('jest').Config} */
const shared = {
  rootDir: import.meta.dirname,
  testEnvironment: '<rootDir>/test/support/environment.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
};

/** @type {import('jest').Config} */
export default {
  // `npm test` runs some of them: see test/setup/run.mjs.
  projects: Object.entries(testsByTier()).map(([tier, tests]) => ({
    ...shared,
    displayName: tier,
    testMatch: tests.map((test) => `<rootDir>/${escaped(test)}`),
    testEnvironmentOptions: { tier },
  })),
  // Longer than a busy machine may pause. Tests wait for events, so those that pass take no longer for it.
  testTimeout: 90_000,
  collectCoverageFrom: ['src/**/*.ts'],
  reporters: ['default', '<rootDir>/test/support/slowest-reporter.mjs'],
  // A leaked handle must show as a test that hangs, not be hidden by a forced exit.
  forceExit: false,
};
