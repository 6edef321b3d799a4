/**
 * What to do about missing programs. Decides only: it looks at nothing and changes nothing.
 *
 * @param {object} situation
 * @param {{ package: string, tests: string[] }[]} situation.missing each missing program, with the tests that need it
 * @param {boolean} situation.noInstall whether installing is forbidden
 * @param {string | undefined} situation.obstacle why nothing can be installed here, if so
 * @returns {{ install: string[], leaveOut: string[], fails: boolean, message: string }}
 */
export function plan({ missing, noInstall, obstacle }) {
  const packages = missing.map((program) => program.package);
  if (missing.length === 0) return { install: [], leaveOut: [], fails: false, message: '' };
  if (noInstall) {
    const lines = neededBy(missing).map(([test, needed]) => `  test/${test} needs ${needed.join(', ')}`);
    return {
      install: [],
      leaveOut: neededBy(missing).map(([test]) => test),
      fails: false,
      message: [`NO_INSTALL is set: nothing is installed. Left out: ${files(lines.length)}:`, ...lines].join('\n'),
    };
  }
  const list = missing.map(({ package: name, tests }) => `  ${name}, for ${files(tests.length)}`);
  if (obstacle) {
    return {
      install: [],
      leaveOut: [],
      fails: true,
      message: [
        'The tests need programs that are missing and cannot be installed automatically:',
        ...list,
        `Reason: ${obstacle}.`,
        byHand(packages),
      ].join('\n'),
    };
  }
  return {
    install: packages,
    leaveOut: [],
    fails: false,
    message: [
      'The tests need programs that are missing. Installing these packages with apt-get; their services stay off:',
      ...list,
      'To install nothing and leave out the tests that need them, set NO_INSTALL=1.',
    ].join('\n'),
  };
}

export function byHand(packages) {
  return [
    `Install them by hand (on Debian or Ubuntu: sudo apt-get install ${packages.join(' ')}),`,
    'or set NO_INSTALL=1 to leave out the tests that need them.',
  ].join('\n');
}

/** Each test that needs a missing program, with all of those, sorted by test. */
function neededBy(missing) {
  const needs = new Map();
  for (const { package: name, tests } of missing) {
    for (const test of tests) needs.set(test, [...(needs.get(test) ?? []), name]);
  }
  return [...needs].sort(([one], [other]) => (one < other ? -1 : 1));
}

const files = (count) => (count === 1 ? '1 test file' : `${count} test files`);
