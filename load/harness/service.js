import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** What `npm start` runs. It is there once it was built. */
export const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/**
 * Where a server listens, from the line in which it says so: the service, or one of those it is compared with.
 * @param {string} line
 * @returns {{ url: string, port: number } | undefined} undefined for any other line
 */
export function addressIn(line) {
  // What gjallar run says.
  const [, shared] = /^(?:\{.*"msg":")?gjallar: \S+ listens on port (\d+)(?:, \d+)* with /.exec(line) ?? [];
  if (shared) return { url: `http://127.0.0.1:${shared}`, port: Number(shared) };
  const [, url, port] = /^(?:\{.*"msg":")?[\w. ]+ listens on (https?:\/\/\S+:(\d+))(?: |"|$)/.exec(line) ?? [];
  return url && { url, port: Number(port) };
}

/** Turns off what protects the service from a single client, for clients that do the work of thousands. */
export const WITHOUT_LIMITS = { RATE_LIMIT: 'off', MAX_CONNECTIONS_PER_IP: '0', MAX_BUFFERED: '0' };

/**
 * Starts the service on a free port of the loopback interface, with an empty folder for its data, which goes with it.
 * @param {object} options
 * @param {Record<string, string>} options.env
 * @param {string[]} [options.nodeOptions] of the primary and the workers
 * @param {string} [options.main] what Node runs: the program of another version, for instance
 * @param {string[]} [options.args] of that program
 * @param {string[]} [options.prefix] a command that runs the server, such as `prlimit`
 * @param {string} [options.node] the program of another version of Node.js
 * @param {(line: string, stream: 'stdout' | 'stderr') => void} options.onLine gets all that it prints
 * @param {(child: import('node:child_process').ChildProcess) => void} [options.onSpawn] is called before it listens
 * @returns {Promise<{ url: string, port: number, pid: number, data: string, stop(): Promise<number | null> }>} `stop`
 *   ends it in order, where it has not ended, and resolves with its exit code once the folder is gone too
 * @throws Error when it ends before it listens
 */
export async function startService(options) {
  const { env, nodeOptions = [], prefix = [], node = process.execPath, main = program, args = [] } = options;
  const { onLine, onSpawn } = options;
  const data = mkdtempSync(join(tmpdir(), 'gjallar-load-'));
  const [command, ...rest] = [...prefix, node, ...nodeOptions, main, ...args];
  const child = spawn(command, rest, {
    env: { DATA_DIR: data, ...env, HOST: '127.0.0.1', PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close').finally(() => rmSync(data, { recursive: true, force: true }));
  onSpawn?.(child);
  const address = await new Promise((resolve, reject) => {
    let last = '';
    for (const stream of ['stdout', 'stderr']) {
      createInterface(child[stream]).on('line', (line) => {
        onLine(line, stream);
        last = line;
        const found = addressIn(line);
        if (found) resolve(found);
      });
    }
    closed.then(() => reject(new Error(`the server did not start: ${last}`)), reject);
  });
  return {
    ...address,
    pid: child.pid,
    data,
    stop: async () => {
      child.kill('SIGTERM');
      const [code] = await closed;
      return code;
    },
  };
}
