import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { freePort } from '../ports.js';
import { end, own } from '../process/at-exit.js';

/**
 * A NATS server.
 * @param {{ host?: string, port?: number, launch?: typeof spawn }} [options]
 * @throws Error where it is not installed
 */
export async function startNats({ host = '127.0.0.1', port, launch = spawn } = {}) {
  const chosen = port ?? (await freePort(host));
  // Debian installs it where an account that is not root often does not look.
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  const options = { stdio: ['ignore', 'ignore', 'pipe'], env };
  const child = own(launch('nats-server', ['--addr', host, '--port', `${chosen}`], options));
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`nats-server ended with ${code}`)));
    createInterface(child.stderr).on('line', (line) => line.includes('Server is ready') && resolve());
  });
  return { url: `nats://${host}:${chosen}`, pid: child.pid, stop: () => end(child) };
}
