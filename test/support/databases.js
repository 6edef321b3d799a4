import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { end, own } from './children.js';
import { lineWith } from './owned-process.js';
import { freePort } from './ports.js';

/**
 * A database server of its own: on the loopback, with a directory of its own, not run as root.
 * @typedef {object} DatabaseServer
 * @property {string} url an `ARCHIVE_URL`
 * @property {() => Promise<void>} kill as if the machine had failed
 * @property {() => Promise<void>} start starts it again, with what it had kept
 * @property {() => Promise<void>} remove
 */

const POSTGRES = '/usr/lib/postgresql';

/** Why there is no PostgreSQL here, or undefined where there is. */
export const whyNoPostgres = () => (existsSync(POSTGRES) ? undefined : 'PostgreSQL is not installed');

/** Packages: postgresql (12 or later). @returns {Promise<DatabaseServer>} */
export function postgres() {
  return setUp('PostgreSQL', 'postgres', async (directory, user) => {
    const port = await freePort();
    const data = ['-D', directory];
    await run('initdb', [...data, '-A', 'trust', '-U', 'gjallar', '-E', 'UTF8', '--no-sync'], user);
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`].flatMap((s) => [
      '-c',
      s,
    ]);
    return {
      url: `postgres://gjallar@127.0.0.1:${port}/postgres`,
      ready: 'ready to accept connections',
      // PostgreSQL's other processes share its memory and end with it; SIGQUIT ends them all without cleaning up.
      killedBy: 'SIGQUIT',
      spawn: () => spawn(program('postgres'), [...data, ...settings], { ...user, stdio: ['ignore', 'ignore', 'pipe'] }),
    };
  });
}

/** Packages: mariadb-server (10.5 or later). @returns {Promise<DatabaseServer>} */
export function mariadb() {
  return setUp('MariaDB', 'mysql', async (directory, user) => {
    const port = await freePort();
    const data = ['--no-defaults', `--datadir=${directory}`];
    const install = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'];
    await run('mariadb-install-db', [...data, ...install], user);
    const files = [`--socket=${directory}/s`, `--pid-file=${directory}/pid`];
    const settings = [`--port=${port}`, '--bind-address=127.0.0.1', '--skip-name-resolve', ...files];
    return {
      url: `mysql://root@127.0.0.1:${port}/gjallar`,
      ready: 'ready for connections',
      killedBy: 'SIGKILL',
      spawn: () => spawn(program('mariadbd'), [...data, ...settings], { ...user, stdio: ['ignore', 'ignore', 'pipe'] }),
      async prepare() {
        const { createConnection } = await import('mysql2/promise');
        const admin = await createConnection({ host: '127.0.0.1', port, user: 'root' });
        await admin.query('CREATE DATABASE gjallar');
        await admin.end();
      },
    };
  });
}

/** Servers that could not be set up. The reason is reported once, and they are not tried again. */
const failed = new Set();

/** Starts a server in a directory of its own. If that fails, nothing is left behind, and one error says why. */
async function setUp(name, account, install) {
  if (failed.has(name)) throw new Error(`The tests' ${name} could not be set up, as reported before.`);
  let directory;
  let server;
  const remove = async () => {
    await server?.kill();
    if (directory) await rm(directory, { recursive: true, force: true });
  };
  try {
    const user = await owner(account);
    directory = await directoryOf(user, `gjallar-${name.toLowerCase()}-`);
    const service = await install(directory, user);
    server = serverOf(service);
    await server.start();
    await service.prepare?.();
    return { ...server, remove };
  } catch (error) {
    failed.add(name);
    await remove();
    throw new Error(`The tests' ${name} could not be set up: ${error.message.trim()}`);
  }
}

/** `ready` is what it writes when it takes connections. */
function serverOf({ url, ready, killedBy, spawn }) {
  let child;
  return {
    url,
    async kill() {
      if (child) await end(child, killedBy);
    },
    async start() {
      child = own(spawn(), killedBy);
      await lineWith(child, ready, 'stderr');
    },
  };
}

/** Runs a program to its end. The error of one that fails, or takes too long, has what it wrote. */
async function run(name, args, user) {
  await promisify(execFile)(program(name), args, { ...user, timeout: 50_000, killSignal: 'SIGKILL' });
}

/** The account that a package runs its server as. Where a test is not root, it runs it as itself. */
async function owner(name) {
  if (process.getuid?.() !== 0) return {};
  const id = (option) => Number(execFileSync('id', [option, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function directoryOf({ uid, gid }, prefix) {
  const directory = await mkdtemp(join(tmpdir(), prefix));
  if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid);
  return directory;
}

/** Debian keeps PostgreSQL's programs out of the path, by version. */
function program(name) {
  const found = existsSync(POSTGRES) ? readdirSync(POSTGRES).sort((a, b) => Number(b) - Number(a)) : [];
  const places = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...found.map((version) => join(POSTGRES, version, 'bin')),
    '/usr/sbin',
  ];
  const place = places.find((one) => existsSync(join(one, name)));
  if (!place) throw new Error(`There is no ${name} here; install the package that has it.`);
  return join(place, name);
}
