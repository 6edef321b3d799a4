import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../harness/command.js';
import { build, commitOf, root } from '../harness/older.js';

/** The commit that a name stands for. @throws UsageError */
export function versionOf(ref) {
  const commit = commitOf(ref);
  if (!commit) throw new UsageError(`--against: there is no commit "${ref}"`);
  return commit;
}

/**
 * Builds the commit. The peers and generators in its folder are today's, so that both versions run the same application.
 * @param {string} commit
 * @returns {string} the folder
 */
export function buildAt(commit) {
  const folder = build(commit);
  rmSync(join(folder, 'load'), { recursive: true, force: true });
  cpSync(join(root, 'load'), join(folder, 'load'), {
    recursive: true,
    filter: (path) => !/\/(node_modules|results|target|artillery)$/.test(path),
  });
  return folder;
}
