import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';

interface Plan {
  install: string[];
  leaveOut: string[];
  fails: boolean;
  message: string;
}

const load = (name: string) => import(new URL(name, import.meta.url).href);
const { plan } = (await load('plan.mjs')) as {
  plan: (situation: { missing: object[]; noInstall: boolean; obstacle?: string }) => Plan;
};
const { PROGRAMS } = (await load('programs.mjs')) as {
  PROGRAMS: { package: string; found: () => boolean; services: string[]; usedBy: string[] }[];
};
const { dependentsOf } = (await load('dependents.mjs')) as { dependentsOf: (files: string[]) => string[] };

const redis = { package: 'redis-server', tests: ['history/archive.test.ts', 'rooms/buses.test.ts'] };
const chromium = { package: 'chromium', tests: ['page/page.test.ts'] };
const postgresql = { package: 'postgresql', tests: ['history/archive.test.ts'] };

test('nothing is done or said where nothing is missing', () => {
  for (const noInstall of [false, true]) {
    expect(plan({ missing: [], noInstall })).toEqual({ install: [], leaveOut: [], fails: false, message: '' });
  }
});

test('what is missing is installed, and listed before', () => {
  expect(plan({ missing: [redis, chromium], noInstall: false })).toEqual({
    install: ['redis-server', 'chromium'],
    leaveOut: [],
    fails: false,
    message: `The tests need programs that are missing. Installing these packages with apt-get; their services stay off:
  redis-server, for 2 test files
  chromium, for 1 test file
To install nothing and leave out the tests that need them, set NO_INSTALL=1.`,
  });
});

test('with NO_INSTALL nothing is installed, and the tests that are left out are listed with what they need', () => {
  // Also where nothing could be installed.
  for (const obstacle of [undefined, 'there is no apt-get']) {
    expect(plan({ missing: [redis, postgresql], noInstall: true, obstacle })).toEqual({
      install: [],
      leaveOut: ['history/archive.test.ts', 'rooms/buses.test.ts'],
      fails: false,
      message: `NO_INSTALL is set: nothing is installed. Left out: 2 test files:
  test/history/archive.test.ts needs redis-server, postgresql
  test/rooms/buses.test.ts needs redis-server`,
    });
  }
});

test('where nothing can be installed the run ends, and says what to install by hand', () => {
  expect(plan({ missing: [redis, postgresql], noInstall: false, obstacle: 'there is no apt-get' })).toEqual({
    install: [],
    leaveOut: [],
    fails: true,
    message: `The tests need programs that are missing and cannot be installed automatically:
  redis-server, for 2 test files
  postgresql, for 1 test file
Reason: there is no apt-get.
Install them by hand (on Debian or Ubuntu: sudo apt-get install redis-server postgresql),
or set NO_INSTALL=1 to leave out the tests that need them.`,
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
  // By way of config/support/files.ts.
  expect(dependentsOf(['support/certificate.ts'])).toContain('config/options.test.ts');
  expect(dependentsOf(['setup/plan.test.ts'])).toEqual(['setup/plan.test.ts']);
});
