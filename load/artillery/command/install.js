import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Failure } from './failure.js';

const folder = new URL('../', import.meta.url);

/**
 * Installs artillery into load/artillery/node_modules, unless it is there in the version that the lock file names. Further
 * up, what it brings (an older ws, for one) would take the place of what the benchmarks measure.
 */
export function installArtillery() {
  // npm writes the second one last.
  if (versionIn('package-lock.json') === versionIn('node_modules/.package-lock.json')) return;
  console.log('Installing artillery into load/artillery/node_modules, once: 969 packages, 590 MB, a minute or more …');
  const { status, error } = spawnSync('npm', ['ci'], { cwd: fileURLToPath(folder), stdio: 'inherit' });
  if (status !== 0) {
    throw new Failure(
      `artillery could not be installed (${error?.message ?? 'see above'}); npm ci in load/artillery/ tries again`,
    );
  }
}

function versionIn(file) {
  try {
    return JSON.parse(readFileSync(new URL(file, folder), 'utf8')).packages['node_modules/artillery'].version;
  } catch {
    return undefined;
  }
}
