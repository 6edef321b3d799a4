import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atExit } from '../../harness/process/at-exit.js';

const apps = fileURLToPath(new URL('./apps/', import.meta.url));
const chat = fileURLToPath(new URL('../apps/chat.cjs', import.meta.url));

/** npm gives up on a package that comes too slowly, in ms. */
const MAX_INSTALL_MS = 300_000;

/** The packages of an application that this machine cannot get. */
export class FetchError extends Error {}

/**
 * How an application of the gallery gets its folder: a copy of `apps/<name>`, with its packages installed. All ways share
 * the folder; `dispose()` removes it.
 * @param {string} name
 * @param {{ packages: Record<string, string>, file?: string, runFile?: string, args?: string[], nodeArgs?: string[],
 *   isModule?: boolean, overrides?: object, build?: string[][] }} from exact versions of its packages, and the file that Node.js runs;
 *   `gjallar run` starts `runFile`; `build` are programs of packages with their arguments
 */
export function installed(name, from) {
  let folder;
  let failure;
  const install = () => {
    folder = mkdtempSync(join(tmpdir(), 'gjallar-gallery-'));
    atExit(dispose);
    cpSync(join(apps, name), folder, { recursive: true });
    cpSync(chat, join(folder, 'chat.cjs'));
    const { packages: dependencies, overrides, isModule } = from;
    const manifest = { type: isModule ? 'module' : 'commonjs', dependencies, overrides };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    fetchPackages(folder);
    for (const command of from.build ?? []) build(folder, command);
  };
  const dispose = () => {
    if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    folder = undefined;
  };
  return {
    dispose,
    prepare(way) {
      if (failure) throw failure;
      try {
        if (!folder) install();
      } catch (error) {
        failure = error;
        throw error;
      }
      const file = way.hasWorkers && from.runFile ? from.runFile : (from.file ?? 'server.cjs');
      return { file: join(folder, file), folder, args: from.args, nodeArgs: from.nodeArgs, remove() {} };
    },
  };
}

function fetchPackages(cwd) {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps'];
  options.push('--prefer-offline');
  const npm = spawnSync('npm', ['install', ...options], { cwd, encoding: 'utf8', timeout: MAX_INSTALL_MS });
  if (npm.status === 0) return;
  const reason = npm.stderr.split('\n').find((line) => line.startsWith('npm error') && !/ code /.test(line));
  throw new FetchError(npm.error?.message ?? reason ?? `npm ended with ${npm.status ?? npm.signal}`);
}

function build(cwd, [program, ...args]) {
  const { status, stdout, stderr } = spawnSync(join(cwd, 'node_modules/.bin', program), args, {
    cwd,
    encoding: 'utf8',
    env: {
      ...process.env,
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
      ASTRO_TELEMETRY_DISABLED: '1',
      NUXT_TELEMETRY_DISABLED: '1',
    },
  });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stdout}${stderr}`.slice(-2000));
}
