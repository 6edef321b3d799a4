import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../harness/ports.js';
import { end } from '../../harness/process/at-exit.js';
import { startHaproxy } from '../../harness/servers/proxy.js';

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
    proxy.own = await freePort();
    proxy.shared = await freePort();
    const configuration = proxy.#configuration(new URL(server).host);
    proxy.#child = await startHaproxy(proxy.#folder, configuration, [proxy.own, proxy.shared]);
    if (!proxy.#child) throw new Error('haproxy is not installed');
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
