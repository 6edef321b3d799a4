import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * The programs that the tests start, one line each:
 * - `package`: the Debian package that brings it;
 * - `found`: how it is detected;
 * - `services`: what the package would start at boot, which the set-up switches off;
 * - `usedBy`: files under test/. Test files that are listed here or import one of these, directly or not, need it.
 */
export const PROGRAMS = [
  {
    package: 'redis-server',
    found: () => inPath('redis-server'),
    services: ['redis-server'],
    usedBy: ['support/redis.ts', 'rooms/hosts.test.ts', 'torture/faults.test.ts'],
  },
  {
    package: 'chromium',
    found: () => isProgram(process.env.CHROMIUM || '/usr/bin/chromium'),
    services: [],
    usedBy: ['support/browser.ts'],
  },
  {
    package: 'postgresql',
    // Debian keeps each version's programs in a directory that is not in the path.
    found: () => inPath('postgres') || versionsOfPostgres().some((bin) => isProgram(join(bin, 'postgres'))),
    services: ['postgresql'],
    usedBy: ['history/support/databases.ts', 'torture/faults.test.ts'],
  },
  {
    package: 'mariadb-server',
    found: () => inPath('mariadbd'),
    services: ['mariadb'],
    usedBy: ['history/support/databases.ts'],
  },
  { package: 'openssl', found: () => inPath('openssl'), services: [], usedBy: ['support/certificate.ts'] },
  {
    package: 'haproxy',
    found: () => inPath('haproxy'),
    services: ['haproxy'],
    usedBy: ['support/haproxy.ts'],
  },
  // Several hosts on one machine.
  {
    package: 'iproute2',
    found: () => inPath('ip'),
    services: [],
    usedBy: ['rooms/support/network.ts', 'torture/faults.test.ts'],
  },
];

/** An account that is not root often has no /usr/sbin in its path. */
function inPath(name) {
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return directories.some((directory) => isProgram(join(directory, name)));
}

function versionsOfPostgres() {
  const versions = '/usr/lib/postgresql';
  try {
    return readdirSync(versions).map((version) => join(versions, version, 'bin'));
  } catch {
    return [];
  }
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
