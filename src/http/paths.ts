import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GjallarError } from '../errors.js';

/** The room that a part of a path names, percent-encoded. @throws GjallarError BAD_ROOM */
export function decodeRoom(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new GjallarError('BAD_ROOM');
  }
}

/** Where the package's files lie that are not code. */
export function packageRoot(): string {
  return join(dirname(fileURLToPath(import.meta.url)), '..', '..');
}
