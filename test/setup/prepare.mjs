import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { byHand, plan } from './plan.mjs';
import { PROGRAMS } from './programs.mjs';
import { packagesFor } from './tiers.mjs';

/**
 * Sees to it that the programs which tests start are there. Otherwise it says what is missing, and returns false.
 * @param {string[]} tests paths of test files under the project
 * @param {boolean} mayInstall whether to install what is missing
 */
export function prepare(tests, mayInstall) {
  const needs = tests.map((test) => ({ test, packages: packagesFor(test) }));
  const missing = PROGRAMS.filter(({ found }) => !found())
    .map(({ package: name }) => ({
      package: name,
      tests: needs.filter(({ packages }) => packages.includes(name)).map(({ test }) => test),
    }))
    .filter((program) => program.tests.length > 0);
  const { install, fails, message } = plan({
    missing,
    mayInstall,
    obstacle: missing.length > 0 && mayInstall ? obstacle() : undefined,
  });
  if (message) console.error(message);
  if (fails || install.length === 0) return !fails;
  const script = fileURLToPath(new URL('install.mjs', import.meta.url));
  const [command, ...args] = [...asRoot, process.execPath, script, ...install];
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  const left = PROGRAMS.filter((each) => install.includes(each.package) && !each.found()).map((each) => each.package);
  if (status === 0 && left.length === 0) return true;
  console.error(`The set-up failed${left.length > 0 ? `: still missing: ${left.join(', ')}` : ''}.`);
  console.error(byHand(left.length > 0 ? left : install));
  return false;
}

/** What a command has to begin with to run as root. */
const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];

function obstacle() {
  if (!succeeds('apt-get', '--version')) return 'there is no apt-get';
  if (asRoot.length > 0 && !succeeds(...asRoot, 'true'))
    return 'this account is not root, and sudo asks for a password';
  return undefined;
}

const succeeds = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;
