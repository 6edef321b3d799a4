import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accepts } from '../ports.js';
import { own } from '../process/at-exit.js';
import { until } from '../until.js';

/**
 * HAProxy with a configuration, once it listens on these ports.
 * @param {string} folder for the configuration
 * @returns {Promise<import('node:child_process').ChildProcess | undefined>} undefined where it is not installed
 */
export async function startHaproxy(folder, configuration, ports, host = '127.0.0.1') {
  const file = join(folder, `haproxy-${ports[0]}.cfg`);
  writeFileSync(file, configuration);
  // Debian installs it where an account that is not root often does not look.
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  const child = own(spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'ignore'], env }));
  const missing = await Promise.race([once(child, 'error').then(() => true), once(child, 'spawn').then(() => false)]);
  if (missing) return undefined;
  for (const port of ports) await until(() => accepts(port, host), `HAProxy does not listen on ${port}`);
  return child;
}
