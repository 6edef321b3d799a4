import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GjallarError } from '../base/errors.js';
import { isWithin, type VersionRange, wordsFor } from '../base/optional-packages.js';
import { requireHere } from '../base/package.js';

/**
 * The versions of socket.io that gjallar was checked against. Older sockets have no connection state recovery, and older
 * adapters broadcast in other steps.
 */
export const CHECKED_VERSIONS: VersionRange = { from: '4.6.0', line: '4' };

/** A copy of socket.io. */
export interface SocketIoCopy {
  readonly version: string;
  readonly folder: string;
}

/**
 * The copy of socket.io that this package finds; undefined where an application's bundle has it. Before 4.8, socket.io does
 * not export its package.json.
 */
export function installedCopy(): SocketIoCopy | undefined {
  try {
    return copyOf(requireHere.resolve('socket.io'));
  } catch {
    return undefined;
  }
}

/** The copy of socket.io that a file belongs to; undefined for files of other packages, such as socket.io-parser. */
export function copyOf(file: string): SocketIoCopy | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const found = read(join(folder, 'package.json'));
    // A package may have such files in its folders, too, which only say how Node.js reads its modules.
    if (found?.name) return found.name === 'socket.io' ? { version: found.version ?? '', folder } : undefined;
  }
  return undefined;
}

function read(path: string): { name?: string; version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { name?: string; version?: string };
  } catch {
    return undefined;
  }
}

/** Why a copy does not work with gjallar, and what to do; undefined if it works. */
export function versionProblem({ version, folder }: SocketIoCopy): string | undefined {
  if (isWithin(version, CHECKED_VERSIONS)) return undefined;
  return (
    `socket.io ${version} in ${folder} does not work with gjallar, which needs ${wordsFor(CHECKED_VERSIONS)}. ` +
    'Run: npm install socket.io@4'
  );
}

/** @throws GjallarError BAD_CONFIG if the copy does not work */
export function checkVersion(copy: SocketIoCopy | undefined): void {
  const problem = copy && versionProblem(copy);
  if (problem) throw new GjallarError('BAD_CONFIG', problem);
}
