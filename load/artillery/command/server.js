import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Failure } from './failure.js';

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
// The virtual users know neither tokens nor the certificate of the server.
const LEFT_OUT = ['TLS_KEY', 'TLS_CERT', 'JWT_SECRET', 'JWKS_URL'];

/**
 * Starts the service on a free port of the loopback interface, with an empty folder for its data. What else the
 * environment says (`WORKERS`, `REDIS_URL`, …) holds.
 * @param {string} logFile gets what the server prints
 * @returns {Promise<{ url: string, pid: number, stop(): Promise<void> }>}
 * @throws Failure
 */
export async function startServer(logFile, environment = process.env) {
  if (!existsSync(main)) throw new Failure('dist/ is missing: npm run build');
  const data = mkdtempSync(join(tmpdir(), 'gjallar-load-'));
  const env = { ...environment, HOST: '127.0.0.1', PORT: '0', DATA_DIR: data };
  for (const name of LEFT_OUT) delete env[name];
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close').finally(() => rmSync(data, { recursive: true, force: true }));
  const log = createWriteStream(logFile);
  const url = await new Promise((resolve, reject) => {
    let last = '';
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on('line', (line) => {
        log.write(`${line}\n`);
        last = line;
        const listens = /^gjallar listens on (\S+) /.exec(line);
        if (listens) resolve(listens[1]);
      });
    }
    closed.then(() => reject(new Failure(`the server did not start: ${last}`)), reject);
  });
  return {
    url,
    pid: child.pid,
    stop: async () => {
      child.kill('SIGTERM');
      await closed;
      log.end();
    },
  };
}

/** Makes sure that a gjallar takes clients at this address. @throws Failure */
export async function checkTarget(url) {
  const answer = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(10_000) }).catch((error) => {
    throw new Failure(`TARGET=${url} does not answer: ${error.cause?.message ?? error.message}`);
  });
  const health = await answer.json().catch(() => undefined);
  if (typeof health?.state !== 'string') throw new Failure(`TARGET=${url} is no gjallar: its /readyz is another's`);
  if (!health.ok) throw new Failure(`TARGET=${url} takes no clients now: ${health.problems.join(', ')}`);
}
