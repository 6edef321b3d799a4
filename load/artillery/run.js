import { spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ON_LOOPBACK, program, RunningService, WITHOUT_LIMITS } from '../../test/support/service.js';
import { runTool } from '../harness/process/tool.js';
import { scriptOf } from './scenarios.js';

/** Why the command cannot do its work. The message is for the user, with what to do about it. */
export class Failure extends Error {}

const home = fileURLToPath(new URL('.', import.meta.url));

/** The virtual users know neither tokens nor the certificate of the server. */
const LEFT_OUT = ['TLS_KEY', 'TLS_CERT', 'JWT_SECRET', 'JWKS_URL'];

/** No scenario takes as long, in ms. */
const LIMIT = 120_000;

const readJson = (file) => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
};

/**
 * Installs artillery into load/artillery/node_modules, unless it is there in the version that the lock file names. Further
 * up, what it brings (an older ws, for one) would take the place of what the benchmarks measure.
 */
export function installArtillery() {
  const versionIn = (file) => readJson(join(home, file))?.packages['node_modules/artillery'].version;
  // npm writes the second one last.
  if (versionIn('package-lock.json') === versionIn('node_modules/.package-lock.json')) return;
  console.log('Installing artillery into load/artillery/node_modules, once: 969 packages, 590 MB, a minute or more …');
  const { status, error } = spawnSync('npm', ['ci'], { cwd: home, stdio: 'inherit' });
  if (status === 0) return;
  const reason = error?.message ?? 'see above';
  throw new Failure(`artillery could not be installed (${reason}); npm ci in load/artillery/ tries again`);
}

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
  return new RunningService({ env, onLine, onSpawn() {} }).start().catch((error) => {
    throw new Failure(error.message);
  });
}

/**
 * Runs a scenario to its end. Artillery's report goes to `NAME.json` in the folder, what it prints to `NAME.log`.
 * @param {{ name: string, url: string, quick: boolean, folder: string, signal: AbortSignal }} options
 * @returns {Promise<import('./verdict.js').Run & { cpu: number }>} `cpu` is what artillery has used, in cores
 */
export async function runArtillery({ name, url, quick, folder, signal }) {
  const report = join(folder, `${name}.json`);
  const script = join(folder, `${name}.script.json`);
  writeFileSync(script, JSON.stringify(scriptOf(name, quick)));
  const artillery = ['--require', './silence.cjs', 'node_modules/artillery/bin/run'];
  const args = [...artillery, 'run', '--target', url, '--output', report, script];
  const { code, output, cpu } = await runTool([process.execPath, ...args], {
    cwd: home,
    env: ownEnvironment(),
    signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT)]),
    killSignal: 'SIGKILL',
  });
  writeFileSync(join(folder, `${name}.log`), output);
  signal.throwIfAborted();
  return { code, cpu, printed: output, report: readJson(report)?.aggregate };
}

/** Artillery reads some of the variables that are meant for the server, and others could turn the thresholds off. */
function ownEnvironment() {
  const others = Object.entries(process.env).filter(([name]) => name !== 'WORKERS' && !name.startsWith('ARTILLERY_'));
  return { ...Object.fromEntries(others), ARTILLERY_DISABLE_TELEMETRY: '1', FORCE_COLOR: '0' };
}
