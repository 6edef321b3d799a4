import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../harness/command.js';

const here = fileURLToPath(new URL('../../', import.meta.url));
// Where jest, biome and git do not look.
const cache = join(here, 'node_modules/.cache/gjallar-bench');

/** The commit that a name stands for, shortened. @throws UsageError */
export function commitOf(ref) {
  try {
    return git('rev-parse', '--short=9', '--verify', '--end-of-options', `${ref}^{commit}`);
  } catch {
    throw new UsageError(`--against: there is no commit "${ref}"`);
  }
}

/**
 * Builds the commit in a folder of its own, with the packages of its own lock file, unless it is there already. The peers
 * and generators in it are today's, so that both versions run the same application.
 * @param {string} commit
 * @returns {string} the folder
 */
export function buildAt(commit) {
  const folder = join(cache, commit);
  const built = join(folder, '.built');
  if (!existsSync(built)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const archive = execFileSync('git', ['archive', commit], { cwd: here, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x'], { cwd: folder, input: archive });
    npm(folder, 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
    npm(folder, 'run', 'build');
    writeFileSync(built, '');
  }
  rmSync(join(folder, 'load'), { recursive: true, force: true });
  cpSync(join(here, 'load'), join(folder, 'load'), {
    recursive: true,
    filter: (path) => !/\/(node_modules|results|target|artillery)$/.test(path),
  });
  return folder;
}

const git = (...args) => execFileSync('git', args, { cwd: here, encoding: 'utf8', stdio: 'pipe' }).trim();

function npm(cwd, ...args) {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}
