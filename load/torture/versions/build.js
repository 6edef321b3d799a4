import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where older versions are built: outside of the repository, and kept for the next run. */
export const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gjallar-versions');

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = (program, args, cwd) =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1e9 }).trim();
const git = (...args) => run('git', args, root);

/**
 * The commit of a version: a tag, a branch or a commit; without one, the last release.
 * @throws Error where there is none
 */
export function commitOf(ref) {
  try {
    return git(
      'rev-parse',
      '--verify',
      '--quiet',
      `${ref ?? git('describe', '--tags', '--abbrev=0', '--match', 'v*')}^{commit}`,
    );
  } catch {
    throw new Error(ref ? `git knows no version "${ref}"` : 'there is no release yet; name a commit with --from');
  }
}

/** Builds a commit, unless it is built already. Returns the path of its program. */
export function build(commit) {
  const folder = join(cache, commit);
  if (!existsSync(folder)) {
    const temporary = `${folder}.${process.pid}`;
    mkdirSync(temporary, { recursive: true });
    run('git', ['archive', '--output', join(temporary, 'source.tar'), commit], root);
    run('tar', ['-xf', 'source.tar'], temporary);
    run('npm', ['ci'], temporary);
    run('npm', ['run', 'build'], temporary);
    renameSync(temporary, folder);
  }
  return join(folder, 'dist', 'main.js');
}
