import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool } from '../../harness/process/tool.js';
import { scriptOf } from '../scenarios.js';
import { Failure } from './server.js';

const home = fileURLToPath(new URL('../', import.meta.url));

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
 * Runs a scenario to its end. Artillery's report goes to `NAME.json` in the folder, what it prints to `NAME.log`.
 * @param {{ name: string, url: string, quick: boolean, folder: string, signal: AbortSignal }} options
 */
export async function runArtillery({ name, url, quick, folder, signal }) {
  const report = join(folder, `${name}.json`);
  const script = join(folder, `${name}.script.json`);
  writeFileSync(script, JSON.stringify(scriptOf(name, quick)));
  const artillery = ['--require', './command/silence.cjs', 'node_modules/artillery/bin/run'];
  const args = [...artillery, 'run', '--target', url, '--output', report, script];
  const { code, output, cpu } = await runTool([process.execPath, ...args], {
    cwd: home,
    env: ownEnvironment(),
    signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT)]),
    killSignal: 'SIGKILL',
  });
  writeFileSync(join(folder, `${name}.log`), output);
  signal.throwIfAborted();
  const end = code === null ? `took longer than ${LIMIT / 1000} s` : undefined;
  return { code, end, cpu, printed: output, report: readJson(report)?.aggregate };
}

/** Artillery reads some of the variables that are meant for the server, and others could turn the thresholds off. */
function ownEnvironment() {
  const others = Object.entries(process.env).filter(([name]) => name !== 'WORKERS' && !name.startsWith('ARTILLERY_'));
  return { ...Object.fromEntries(others), ARTILLERY_DISABLE_TELEMETRY: '1', FORCE_COLOR: '0' };
}
