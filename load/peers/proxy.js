// HAProxy in front of nodes, as `gjallar doctor --proxy haproxy` configures it.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { program } from '../harness/service.js';
import { freePort } from './free-port.js';

/** @typedef {'place' | 'spread'} ProxyKind whether the clients of a room meet on one node, or take turns over all */

/**
 * @param {string} folder for the configuration
 * @param {number[]} ports of the nodes
 * @param {ProxyKind} kind
 * @returns {Promise<{ port: number, child: import('node:child_process').ChildProcess } | undefined>} undefined where it is not installed
 */
export async function startProxy(folder, host, ports, kind) {
  const port = await freePort(host);
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, configurationOf(host, port, ports, kind));
  // Debian installs it where an account that is not root often does not look.
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'ignore'], env });
  const missing = await Promise.race([once(child, 'error').then(() => true), once(child, 'spawn').then(() => false)]);
  if (missing) return undefined;
  while (!(await answers(host, port))) await sleep(50);
  return { port, child };
}

/** @param {ProxyKind} kind */
function configurationOf(host, port, ports, kind) {
  const addresses = ports.map((node) => `${host}:${node}`).join();
  const options = ['doctor', '--proxy', 'haproxy', '--place', 'room', '--addresses', addresses];
  const text = execFileSync(process.execPath, [program, ...options], { encoding: 'utf8' }).replace(
    'bind :80',
    `bind ${host}:${port}`,
  );
  // One thread, as every node has. Each connection takes two of the 20,000 descriptors that a process may have.
  const placed = `global\n    nbthread 1\n    maxconn 9000\n\n${text}`;
  if (kind === 'place') return placed;
  return placed.replace(/ +balance hash .*\n +hash-type .*\n/, '    balance roundrobin\n');
}

function answers(host, port) {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
