/**
 * What to do about missing programs. Decides only: it looks at nothing and changes nothing.
 *
 * @param {object} situation
 * @param {{ package: string, tests: string[] }[]} situation.missing each missing program, with the chosen tests that need it
 * @param {boolean} situation.mayInstall whether `--install` was given
 * @param {string} [situation.obstacle] why nothing can be installed here, if so
 * @returns {{ install: string[], fails: boolean, message: string }}
 */
export function plan({ missing, mayInstall, obstacle }) {
  if (missing.length === 0) return { install: [], fails: false, message: '' };
  const packages = missing.map((program) => program.package);
  const list = missing.map(({ package: name, tests }) => `  ${name}, for ${files(tests.length)}`);
  if (mayInstall && !obstacle) {
    const message = ['Installing these packages with apt-get; their services stay off:', ...list].join('\n');
    return { install: packages, fails: false, message };
  }
  const how = mayInstall ? [`Nothing can be installed: ${obstacle}.`] : ['Add --install to install them with apt-get.'];
  return {
    install: [],
    fails: true,
    message: ['These tests need Debian packages that are missing:', ...list, ...how, byHand(packages)].join('\n'),
  };
}

export function byHand(packages) {
  return `By hand, on Debian or Ubuntu: sudo apt-get install ${packages.join(' ')}`;
}

const files = (count) => (count === 1 ? '1 test file' : `${count} test files`);
