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
    usedBy: ['support/redis.js', 'cluster/backplanes/frames/hosts.test.ts', 'deploy/compose.test.ts'],
  },
  {
    package: 'nats-server',
    found: () => inPath('nats-server'),
    services: ['nats-server'],
    usedBy: ['support/nats.js'],
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
    usedBy: ['support/databases.js'],
  },
  {
    package: 'mariadb-server',
    found: () => inPath('mariadbd'),
    services: ['mariadb'],
    usedBy: ['support/databases.js'],
  },
  {
    package: 'openssl',
    found: () => inPath('openssl'),
    services: [],
    usedBy: ['support/certificate.ts', 'deploy/private-ca.test.ts'],
  },
  {
    package: 'prometheus',
    found: () => inPath('promtool'),
    services: ['prometheus'],
    usedBy: ['deploy/promtool.test.ts'],
  },
  // A client in another language, and what it connects with.
  ...['socketio', 'websocket', 'requests'].map((name) => ({
    package: `python3-${name}`,
    found: () => isFolder(`/usr/lib/python3/dist-packages/${name}`),
    services: [],
    usedBy: ['examples/clients.test.ts'],
  })),
  // The proxies of the guide.
  ...[
    ['nginx', 'nginx'],
    ['haproxy', 'haproxy'],
    ['apache2-bin', 'apache2'],
    ['caddy', 'caddy'],
  ].map(([name, program]) => ({
    package: name,
    found: () => inPath(program),
    services: name === 'apache2-bin' ? [] : [name],
    usedBy: [
      'guide/proxies.test.ts',
      ...(name === 'nginx' || name === 'haproxy' ? ['guide/placement.test.ts'] : []),
      ...(name === 'haproxy' ? ['support/haproxy.js', 'deploy/compose.test.ts', 'deploy/rolling.test.ts'] : []),
    ],
  })),
  // Several hosts on one machine.
  {
    package: 'iproute2',
    found: () => inPath('ip'),
    services: [],
    usedBy: ['support/hosts.js'],
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

function isFolder(path) {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
