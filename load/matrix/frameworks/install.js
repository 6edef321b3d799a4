import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = new URL('./', import.meta.url);

/**
 * Installs Next.js and Vite into this folder, unless they are there in the versions that the lock file names.
 * @throws if npm fails
 */
export function installFrameworks() {
  // npm writes the second one last.
  if (versionsIn('package-lock.json') === versionsIn('node_modules/.package-lock.json')) return;
  console.log('Installing Next.js and Vite into load/matrix/frameworks/node_modules, once: 33 packages, 380 MB …');
  // Unlike `npm ci`, it accepts that the lock file lacks packages of other platforms, which not every registry has.
  const { status, error } = spawnSync('npm', ['install', '--no-save'], {
    cwd: fileURLToPath(folder),
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`npm install failed in load/matrix/frameworks (${error?.message ?? 'see above'})`);
}

function versionsIn(file) {
  try {
    const { packages } = JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
    return ['next', 'vite'].map((name) => packages[`node_modules/${name}`].version).join();
  } catch {
    return undefined;
  }
}
