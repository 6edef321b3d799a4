import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { dependentsOf } from './dependents.mjs';
import { plan } from './plan.mjs';
import { PROGRAMS } from './programs.mjs';

const redis = { package: 'redis-server', tests: ['history/archive.test.ts', 'rooms/buses.test.ts'] };
const postgresql = { package: 'postgresql', tests: ['history/archive.test.ts'] };

test('nothing is done or said where nothing is missing', () => {
  for (const mayInstall of [false, true]) {
    expect(plan({ missing: [], mayInstall })).toEqual({ install: [], fails: false, message: '' });
  }
});

test('without --install nothing is installed, and the run ends with what to do', () => {
  expect(plan({ missing: [redis, postgresql], mayInstall: false })).toEqual({
    install: [],
    fails: true,
    message: `These tests need Debian packages that are missing:
  redis-server, for 2 test files
  postgresql, for 1 test file
Add --install to install them with apt-get.
By hand, on Debian or Ubuntu: sudo apt-get install redis-server postgresql`,
  });
});

test('with --install what is missing is installed, and listed before', () => {
  expect(plan({ missing: [redis, postgresql], mayInstall: true })).toEqual({
    install: ['redis-server', 'postgresql'],
    fails: false,
    message: `Installing these packages with apt-get; their services stay off:
  redis-server, for 2 test files
  postgresql, for 1 test file`,
  });
});

test('with --install where nothing can be installed the run ends, and says what to install by hand', () => {
  expect(plan({ missing: [postgresql], mayInstall: true, obstacle: 'there is no apt-get' })).toEqual({
    install: [],
    fails: true,
    message: `These tests need Debian packages that are missing:
  postgresql, for 1 test file
Nothing can be installed: there is no apt-get.
By hand, on Debian or Ubuntu: sudo apt-get install postgresql`,
  });
});

test('each program is needed by files that exist and by at least one test', () => {
  for (const { usedBy } of PROGRAMS) {
    for (const file of usedBy) expect([file, existsSync(new URL(`../${file}`, import.meta.url))]).toEqual([file, true]);
    expect(dependentsOf(usedBy)).not.toEqual([]);
  }
});

test('a test depends on what it imports, directly or not, and on itself', () => {
  expect(dependentsOf(['support/browser.ts'])).toContain('page/page.test.ts');
  // By way of run/support/application.ts.
  expect(dependentsOf(['support/children.js'])).toContain('host/run/run.test.ts');
  expect(dependentsOf(['setup/plan.test.ts'])).toEqual(['setup/plan.test.ts']);
});
