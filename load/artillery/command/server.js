import { createWriteStream, existsSync } from 'node:fs';
import { ON_LOOPBACK, program, RunningService, WITHOUT_LIMITS } from '../../../test/support/service.js';

/** Why the command cannot do its work. The message is for the user, with what to do about it. */
export class Failure extends Error {}

// The virtual users know neither tokens nor the certificate of the server.
const LEFT_OUT = ['TLS_KEY', 'TLS_CERT', 'JWT_SECRET', 'JWKS_URL'];

/**
 * Starts the service on a free port of the loopback interface, with an empty folder for its data. What else the
 * environment says (`WORKERS`, `REDIS_URL`, …) holds.
 * @param {string} logFile gets what the server prints
 * @throws Failure
 */
export async function startServer(logFile, environment = process.env) {
  if (!existsSync(program)) throw new Failure('dist/ is missing: npm run build');
  const kept = Object.entries(environment).filter(([name]) => !LEFT_OUT.includes(name));
  const env = { ...WITHOUT_LIMITS, ...Object.fromEntries(kept), ...ON_LOOPBACK };
  const log = createWriteStream(logFile);
  const onLine = (line) => log.write(`${line}\n`);
  // The command itself ends it, also where it is interrupted.
  const onSpawn = () => {};
  return new RunningService({ env, onLine, onSpawn }).start().catch((error) => {
    throw new Failure(error.message);
  });
}

/** Makes sure that a gjallar takes clients at this address. @throws Failure */
export async function checkTarget(url) {
  const answer = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(10_000) }).catch((error) => {
    throw new Failure(`TARGET=${url} does not answer: ${error.cause?.message ?? error.message}`);
  });
  const health = await answer.json().catch(() => undefined);
  if (typeof health?.state !== 'string') throw new Failure(`TARGET=${url} is no gjallar: its /readyz is another's`);
  if (!health.ok)
    throw new Failure(`TARGET=${url} takes no clients now: ${health.problems.map(({ text }) => text).join(', ')}`);
}
