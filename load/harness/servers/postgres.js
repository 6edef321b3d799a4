import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { end, own } from '../process/at-exit.js';

const installed = '/usr/lib/postgresql';

/** Why there is no PostgreSQL here, or undefined where there is. */
export function whyNoPostgres() {
  return existsSync(installed) ? undefined : 'PostgreSQL is not installed';
}

/** A PostgreSQL of its own, reached by a Unix socket: it takes no port. */
export class Postgres {
  #child;
  #directory;
  #account;

  static async start(directory) {
    const postgres = new Postgres();
    mkdirSync(directory);
    postgres.#directory = directory;
    postgres.#account = accountFor(directory);
    const settings = ['-D', `${directory}/data`, '-A', 'trust', '-U', 'gjallar', '-E', 'UTF8', '--no-sync'];
    execFileSync(program('initdb'), settings, { ...postgres.#account, stdio: 'ignore' });
    postgres.url = `postgres://gjallar@localhost/postgres?host=${directory}`;
    await postgres.begin();
    return postgres;
  }

  async begin() {
    const settings = ['listen_addresses=', `unix_socket_directories=${this.#directory}`].flatMap((one) => ['-c', one]);
    const child = own(
      spawn(program('postgres'), ['-D', `${this.#directory}/data`, ...settings], {
        ...this.#account,
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    );
    this.#child = child;
    await new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`postgres ended with ${code}`)));
      createInterface(child.stderr).on('line', (line) => line.includes('ready to accept connections') && resolve());
    });
  }

  /** As if its machine had failed. */
  async kill() {
    await end(this.#child, 'SIGQUIT');
  }
}

function program(name) {
  const version = readdirSync(installed).sort((a, b) => Number(b) - Number(a))[0];
  return `${installed}/${version}/bin/${name}`;
}

/** It refuses to run as root. */
function accountFor(directory) {
  if (process.getuid() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres']));
  const account = { uid: id('-u'), gid: id('-g'), cwd: directory };
  chownSync(directory, account.uid, account.gid);
  return account;
}
