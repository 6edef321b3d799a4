import { spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CpuWatch } from './cpu.js';

const home = fileURLToPath(new URL('../', import.meta.url));

/** No scenario takes as long, in ms. */
const LIMIT = 120_000;

/**
 * Runs a scenario to its end. Artillery's report goes to `NAME.json` in the folder, what it prints to `NAME.log`.
 * @param {{ name: string, url: string, quick: boolean, folder: string, signal: AbortSignal }} options
 */
export async function runArtillery({ name, url, quick, folder, signal }) {
  const report = join(folder, `${name}.json`);
  const args = ['--require', './command/silence.cjs', 'node_modules/artillery/bin/run', 'run'];
  args.push('--target', url, '--output', report, ...(quick ? ['--environment', 'quick'] : []));
  args.push(`scenarios/${name}.yml`);
  const child = spawn(process.execPath, args, {
    cwd: home,
    env: ownEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT)]),
    killSignal: 'SIGKILL',
  });
  // Whatever ends it, it is over when it is closed.
  child.on('error', () => {});
  const closed = new Promise((resolve) => child.on('close', (...end) => resolve(end)));
  const cpu = new CpuWatch(child.pid);
  let printed = '';
  const log = createWriteStream(join(folder, `${name}.log`));
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk;
      log.write(chunk);
    });
  }
  const [code, killedBy] = await closed;
  cpu.stop();
  log.end();
  signal.throwIfAborted();
  return {
    code,
    end: killedBy ? `took longer than ${LIMIT / 1000} s` : undefined,
    cpu,
    printed,
    report: readReport(report),
  };
}

/** Artillery reads some of the variables that are meant for the server, and others could turn the thresholds off. */
function ownEnvironment() {
  const others = Object.entries(process.env).filter(([name]) => name !== 'WORKERS' && !name.startsWith('ARTILLERY_'));
  return { ...Object.fromEntries(others), ARTILLERY_DISABLE_TELEMETRY: '1', FORCE_COLOR: '0' };
}

/** The figures of the whole run; undefined where artillery did not get to its end. */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).aggregate;
  } catch {
    return undefined;
  }
}
