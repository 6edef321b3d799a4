import { spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { own } from './children.js';
import { OwnedProcess, withSbin } from './owned-process.js';
import { accepts, onFreePort } from './ports.js';
import { until } from './until.js';

/**
 * The configuration of a proxy without affinity: each request goes to the next server. With `abortonclose`, servers learn
 * of clients that do not wait for an answer. A server on a busy machine may take longer for a health check than their
 * interval, after which HAProxy would break its connections.
 * @param {string} listen @param {readonly string[]} servers @param {string} backend a further line of the backend's configuration
 */
export function roundRobin(listen, servers, backend = '') {
  return `
defaults
  mode http
  timeout connect 20s
  timeout check 20s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  option redispatch 1
  option abortonclose
  option httpchk
  http-check send meth GET uri /healthz ver HTTP/1.1 hdr Host localhost
frontend clients
  bind ${listen}
  default_backend servers
backend servers
  balance roundrobin
${backend && `  ${backend}\n`}${servers.map((server, index) => `  server s${index} ${server} check inter 200 fall 1 rise 1 on-marked-down shutdown-sessions`).join('\n')}
`;
}

/** HAProxy in front of servers. */
export class HaProxy extends OwnedProcess {
  /**
   * Each request goes to the next server.
   * @param {readonly number[]} ports the ports of the servers on the loopback interface
   * @param {string} [backend] a further line of the backend's configuration
   */
  static start(ports, backend) {
    const servers = ports.map((one) => `127.0.0.1:${one}`);
    return HaProxy.with((port) => roundRobin(`127.0.0.1:${port}`, servers, backend));
  }

  /** @param {(port: number) => string} configurationOf listens on the port */
  static async with(configurationOf) {
    const directory = await mkdtemp(join(tmpdir(), 'gjallar-haproxy-'));
    const file = join(directory, 'haproxy.cfg');
    return onFreePort(async (port) => {
      await writeFile(file, configurationOf(port));
      const haproxy = new HaProxy(port, directory);
      const child = own(spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore', env: withSbin() }));
      haproxy.child = child;
      let failure;
      child.once('error', (error) => {
        failure = error;
      });
      await until(() => failure || child.exitCode !== null || accepts(port));
      if (failure || child.exitCode !== null) throw failure ?? new Error(`haproxy ended with ${child.exitCode}`);
      return haproxy;
    });
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }
}
