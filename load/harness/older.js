import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where other versions are built: outside of the repository, and kept for the next run. */
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gjallar-versions');

/** The folder of this checkout. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

const run = (program, args, cwd) =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1e9 }).trim();
const git = (...args) => run('git', args, root);

/** The commit that a tag, a branch or a commit names; undefined where there is none. */
export function commitOf(ref) {
  try {
    return git('rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`);
  } catch {
    return undefined;
  }
}

/** Builds a commit with the packages of its own lock file, unless it is built already. @returns {string} its folder */
export function build(commit) {
  const folder = join(cache, commit);
  if (!existsSync(folder)) {
    const temporary = `${folder}.${process.pid}`;
    mkdirSync(temporary, { recursive: true });
    run('git', ['archive', '--output', join(temporary, 'source.tar'), commit], root);
    run('tar', ['-xf', 'source.tar'], temporary);
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], temporary);
    run('npm', ['run', 'build'], temporary);
    renameSync(temporary, folder);
  }
  return folder;
}
