// HAProxy in front of nodes, as `gjallar doctor --proxy haproxy` configures it.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accepts, freePort } from '../ports.js';
import { own } from '../process/at-exit.js';
import { program } from '../service.js';

/** @typedef {'place' | 'spread'} ProxyKind whether the clients of a room meet on one node, or take turns over all */

/**
 * @typedef {object} Front
 * @property {number} port
 * @property {number[]} [nodePorts] ports that reach one node each, where the nodes are in another namespace
 * @property {import('node:child_process').ChildProcess} child
 */

/**
 * @param {string} folder for the configuration
 * @param {string[]} addresses of the nodes, as host and port
 * @param {ProxyKind} kind
 * @param {string} [namespace] the network namespace from which the proxy reaches the nodes
 * @returns {Promise<Front | undefined>} undefined where it is not installed
 */
export async function startProxy(folder, host, addresses, kind, namespace) {
  const port = await freePort(host);
  const nodePorts = namespace && (await Promise.all(addresses.map(() => freePort(host))));
  const direct = nodePorts?.map((nodePort, index) => directTo(addresses[index], `${host}:${nodePort}`)) ?? [];
  const text = [configurationOf(`${host}:${port}`, addresses, kind), ...direct].join('\n');
  const given = namespace ? text.replace(/^ +server .*/gm, `$& namespace ${namespace}`) : text;
  const child = await startHaproxy(folder, given, [port], host);
  return child && { port, nodePorts, child };
}

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
  for (const port of ports) while (!(await accepts(port, host))) await sleep(20);
  return child;
}

const directTo = (address, from) => `listen ${from}\n    bind ${from}\n    server node ${address}\n`;

/** @param {ProxyKind} kind */
function configurationOf(listens, addresses, kind) {
  const options = ['doctor', '--proxy', 'haproxy', '--place', 'room', '--addresses', addresses.join()];
  const text = execFileSync(process.execPath, [program, ...options], { encoding: 'utf8' }).replace(
    'bind :80',
    `bind ${listens}`,
  );
  // One thread, as every node has. Each connection takes two of the 20,000 descriptors that a process may have.
  const placed = `global\n    nbthread 1\n    maxconn 9000\n\n${text}`;
  if (kind === 'place') return placed;
  return placed.replace(/ +balance hash .*\n +hash-type .*\n/, '    balance roundrobin\n');
}
