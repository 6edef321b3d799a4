import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { endWithFile } from '../../../support/children.js';
import { freePort } from '../../../support/ports.js';
import { end, lineWith } from './process.js';

/** A database server of the test's own: on the loopback, with a directory of its own, not run as root. */
export interface DatabaseServer {
  /** An `ARCHIVE_URL`. */
  readonly url: string;
  /** As if the machine had failed. */
  kill(): Promise<void>;
  /** Starts it again, with what it had kept. */
  start(): Promise<void>;
  remove(): Promise<void>;
}

interface Service {
  readonly url: string;
  /** What it writes when it takes connections. */
  readonly ready: string;
  readonly killedBy: NodeJS.Signals;
  spawn(): ChildProcess;
  /** What is left to do once it runs for the first time. */
  prepare?(): Promise<void>;
}

type Account = { uid?: number; gid?: number };

/** Packages: postgresql (12 or later). */
export function postgres(): Promise<DatabaseServer> {
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

/** Packages: mariadb-server (10.5 or later). */
export function mariadb(): Promise<DatabaseServer> {
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
        const admin = await createConnection({ host: '127.0.0.1', port, user: 'root' });
        await admin.query('CREATE DATABASE gjallar');
        await admin.end();
      },
    };
  });
}

/** Servers that this test file could not set up. The reason is reported once, and they are not tried again. */
const failed = new Set<string>();

/** Starts a server in a directory of its own. If that fails, nothing is left behind, and one error says why. */
async function setUp(
  name: string,
  account: string,
  install: (directory: string, user: Account) => Promise<Service>,
): Promise<DatabaseServer> {
  if (failed.has(name)) throw new Error(`The tests' ${name} could not be set up, as reported before.`);
  let directory: string | undefined;
  let server: Omit<DatabaseServer, 'remove'> | undefined;
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
    throw new Error(`The tests' ${name} could not be set up: ${(error as Error).message.trim()}`);
  }
}

function serverOf({ url, ready, killedBy, spawn }: Service): Omit<DatabaseServer, 'remove'> {
  let child: ChildProcess | undefined;
  return {
    url,
    async kill() {
      if (child) await end(child, killedBy);
    },
    async start() {
      child = endWithFile(spawn(), killedBy);
      await lineWith(child, ready, 'stderr');
    },
  };
}

/** Runs a program to its end. The error of one that fails, or takes too long, has what it wrote. */
async function run(name: string, args: string[], user: Account): Promise<void> {
  await promisify(execFile)(program(name), args, { ...user, timeout: 50_000, killSignal: 'SIGKILL' });
}

/** The account that a package runs its server as. Where a test is not root, it runs it as itself. */
async function owner(name: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const id = (option: string) => Number(execFileSync('id', [option, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function directoryOf({ uid, gid }: { uid?: number; gid?: number }, prefix: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), prefix));
  if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid);
  return directory;
}

/** Debian keeps PostgreSQL's programs out of the path, by version. */
function program(name: string): string {
  const versions = '/usr/lib/postgresql';
  const found = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : [];
  const places = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...found.map((version) => join(versions, version, 'bin')),
    '/usr/sbin',
  ];
  const place = places.find((one) => existsSync(join(one, name)));
  if (!place) throw new Error(`There is no ${name} here; install the package that has it.`);
  return join(place, name);
}
