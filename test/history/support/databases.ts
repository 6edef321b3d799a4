import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { freePort } from '../../support/ports.js';
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

/** Packages: postgresql (12 or later). */
export async function postgres(): Promise<DatabaseServer> {
  const user = await owner('postgres');
  const directory = await directoryOf(user, 'gjallar-postgres-');
  const port = await freePort();
  const data = ['-D', directory];
  execFileSync(program('initdb'), [...data, '-A', 'trust', '-U', 'gjallar', '-E', 'UTF8', '--no-sync'], {
    ...user,
    stdio: 'ignore',
  });
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`].flatMap((s) => ['-c', s]);
  return serve(directory, `postgres://gjallar@127.0.0.1:${port}/postgres`, () => {
    const child = spawn(program('postgres'), [...data, ...settings], { ...user, stdio: ['ignore', 'ignore', 'pipe'] });
    return { child, ready: lineWith(child, 'ready to accept connections', 'stderr') };
  });
}

/** Packages: mariadb-server (10.5 or later). */
export async function mariadb(): Promise<DatabaseServer> {
  const user = await owner('mysql');
  const directory = await directoryOf(user, 'gjallar-mariadb-');
  const port = await freePort();
  const data = `--datadir=${directory}`;
  execFileSync(
    program('mariadb-install-db'),
    ['--no-defaults', data, '--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'],
    { ...user, stdio: 'ignore' },
  );
  const settings = [`--port=${port}`, '--bind-address=127.0.0.1', `--socket=${directory}/s`, '--skip-name-resolve'];
  const pid = `--pid-file=${directory}/pid`;
  const server = await serve(directory, `mysql://root@127.0.0.1:${port}/gjallar`, () => {
    const child = spawn(program('mariadbd'), ['--no-defaults', data, ...settings, pid], {
      ...user,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return { child, ready: lineWith(child, 'ready for connections', 'stderr') };
  });
  const admin = await createConnection({ host: '127.0.0.1', port, user: 'root' });
  await admin.query('CREATE DATABASE gjallar');
  await admin.end();
  return server;
}

async function serve(
  directory: string,
  url: string,
  begin: () => { child: ChildProcess; ready: Promise<string> },
): Promise<DatabaseServer> {
  let child: ChildProcess | undefined;
  const server: DatabaseServer = {
    url,
    async kill() {
      // PostgreSQL's other processes share its memory and end with it; SIGQUIT ends them all without cleaning up.
      if (child) await end(child, url.startsWith('postgres') ? 'SIGQUIT' : 'SIGKILL');
    },
    async start() {
      const begun = begin();
      child = begun.child;
      await begun.ready;
    },
    async remove() {
      await server.kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
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
    ...found.map((version) => join(versions, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/sbin',
  ];
  const place = places.find((one) => existsSync(join(one, name)));
  if (!place) throw new Error(`There is no ${name} here; install the package that has it.`);
  return join(place, name);
}
