import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GjallarError } from '../errors.js';

/** Decodes the percent-encoded room in a segment of a path. @throws GjallarError BAD_ROOM */
export function decodeRoom(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new GjallarError('BAD_ROOM');
  }
}

/** The folder of the package, which contains `public` and `docs`. */
export function packageRoot(): string {
  return join(dirname(fileURLToPath(import.meta.url)), '..', '..');
}
