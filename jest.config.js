import { availableParallelism } from 'node:os';
import { planHere } from './test/setup/situation.mjs';

/** With NO_INSTALL, the tests whose programs are missing; the set-up before jest has listed them. */
const leftOut = planHere().leaveOut.map((test) => `/test/${test.replaceAll('.', '\\.')}$`);

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/environment.mjs',
  testMatch: ['<rootDir>/test/**/*.test.ts', '<rootDir>/load/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...leftOut],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
  collectCoverageFrom: ['src/**/*.ts'],
  // Longer than a busy machine may pause. Tests wait for events, so those that pass take no longer for it.
  testTimeout: 90_000,
  // Some files wait for heartbeats and time-outs while others compute: with one file for each core, a fifth of the time is idle.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  reporters: ['default', '<rootDir>/test/support/slowest-reporter.mjs'],
  testSequencer: '<rootDir>/test/setup/sequencer.mjs',
  // A leaked handle must show as a test that hangs, not be hidden by a forced exit.
  forceExit: false,
};
