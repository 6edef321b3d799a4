import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { end, own } from '../../harness/at-exit.js';
import { freePort } from '../../harness/free-port.js';

/**
 * HAProxy in front of one server, on two ports. Behind `own`, each client's connection has a connection to the server of its
 * own. Behind `shared`, the requests of all clients share the connections to the server.
 */
export class ReusingProxy {
  #child;
  #folder = mkdtempSync(join(tmpdir(), 'gjallar-idle-'));

  /** @param {string} server the URL of the server */
  static async start(server) {
    const proxy = new ReusingProxy();
    proxy.own = await freePort('127.0.0.1');
    proxy.shared = await freePort('127.0.0.1');
    const file = join(proxy.#folder, 'haproxy.cfg');
    writeFileSync(file, proxy.#configuration(new URL(server).host));
    proxy.#child = own(spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] }));
    for (const port of [proxy.own, proxy.shared]) while (!(await accepts(port))) await sleep(20);
    return proxy;
  }

  /** Like a cloud's load balancer, it keeps its connections to the server for a minute. */
  #configuration(server) {
    const section = (name, port, reuse) =>
      `listen ${name}\n  bind 127.0.0.1:${port}\n  http-reuse ${reuse}\n  server one ${server} pool-purge-delay 60s`;
    return `defaults
  mode http
  option forwardfor
  timeout connect 10s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 60s
${section('own', this.own, 'never')}
${section('shared', this.shared, 'always')}
`;
  }

  async stop() {
    await end(this.#child, 'SIGTERM');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function accepts(port) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
