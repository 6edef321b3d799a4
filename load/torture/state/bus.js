import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort } from '../../peers/free-port.js';
import { hasRedis, startRedis } from '../attack/redis.js';
import { own } from '../support/at-exit.js';

export const buses = ['embedded', 'redis', 'nats'];

/** What joins the workers: two machines over Redis or NATS, or one machine without either. */
export async function startBus(name = hasRedis() ? 'redis' : 'embedded') {
  if (name === 'redis') return startRedis();
  if (name === 'nats') return startNats();
  return { url: undefined, stop: async () => {} };
}

async function startNats() {
  const port = await freePort('127.0.0.1');
  const path = `${process.env.PATH}:/usr/sbin`;
  const child = own(
    spawn('nats-server', ['--addr', '127.0.0.1', '--port', `${port}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: path },
    }),
  );
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`nats-server ended with ${code}`)));
    createInterface(child.stderr).on('line', (line) => line.includes('Server is ready') && resolve());
  });
  return {
    url: `nats://127.0.0.1:${port}`,
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}
