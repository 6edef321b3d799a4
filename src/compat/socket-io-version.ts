import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { GjallarError } from '../errors.js';

/**
 * The range of socket.io versions that gjallar was checked against. Older sockets have no connection state recovery, and
 * older adapters broadcast in other steps.
 */
export const CHECKED_VERSIONS = { from: '4.6.0', below: '5.0.0' } as const;

/** The folder of the socket.io that this package finds. Before 4.8, socket.io does not export its package.json. */
export function packageFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('socket.io')), '..');
}

/** The version of the socket.io that this package finds. */
export function installedVersion(): string {
  return (JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')) as { version: string }).version;
}

/** @throws GjallarError BAD_CONFIG if the version is outside the checked range */
export function checkVersion(version: string): void {
  const { from, below } = CHECKED_VERSIONS;
  if (isAtLeast(version, from) && !isAtLeast(version, below)) return;
  throw new GjallarError(
    'BAD_CONFIG',
    `socket.io ${version} is installed, but gjallar needs a version from ${from} up to, but not including, ${below}. ` +
      'Run "npm install socket.io@4".',
  );
}

/** Compares major and minor version. */
function isAtLeast(version: string, other: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number);
  return major > otherMajor || (major === otherMajor && minor >= otherMinor);
}
