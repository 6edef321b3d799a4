import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endWithFile } from './children.js';
import { onFreePort } from './ports.js';
import { until } from './until.js';

/**
 * The configuration of a proxy without affinity: each request goes to the next server. With `abortonclose`, servers learn
 * of clients that do not wait for an answer. A server on a busy machine may take longer for a health check than their
 * interval, after which HAProxy would break its connections.
 */
export function roundRobin(listen: string, servers: readonly string[], backend = ''): string {
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

/** HAProxy in front of servers, each request to the next one. */
export class HaProxy {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  /**
   * @param ports the ports of the servers on the loopback interface
   * @param backend a further line of the backend's configuration
   */
  static async start(ports: readonly number[], backend?: string): Promise<HaProxy> {
    const directory = await mkdtemp(join(tmpdir(), 'gjallar-haproxy-'));
    const file = join(directory, 'haproxy.cfg');
    const servers = ports.map((one) => `127.0.0.1:${one}`);
    return onFreePort(async (port) => {
      await writeFile(file, roundRobin(`127.0.0.1:${port}`, servers, backend));
      const child = endWithFile(spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' }));
      await until(() => child.exitCode !== null || accepts(port));
      if (child.exitCode !== null) throw new Error(`haproxy ended with ${child.exitCode}`);
      return new HaProxy(port, child, directory);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
    await rm(this.directory, { recursive: true, force: true });
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}
