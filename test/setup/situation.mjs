import { spawnSync } from 'node:child_process';
import { dependentsOf } from './dependents.mjs';
import { plan } from './plan.mjs';
import { PROGRAMS } from './programs.mjs';

/** The plan for this machine. */
export function planHere() {
  const missing = PROGRAMS.filter(({ found }) => !found());
  const noInstall = !['', '0', undefined].includes(process.env.NO_INSTALL);
  return plan({
    missing: missing.map(({ package: name, usedBy }) => ({ package: name, tests: dependentsOf(usedBy) })),
    noInstall,
    obstacle: missing.length > 0 && !noInstall ? obstacle() : undefined,
  });
}

/** What a command has to begin with to run as root. */
export const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];

function obstacle() {
  if (!succeeds('apt-get', '--version')) return 'there is no apt-get';
  if (asRoot.length > 0 && !succeeds(...asRoot, 'true'))
    return 'this account is not root, and sudo asks for a password';
  return undefined;
}

const succeeds = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;
