import { GjallarError } from '../../base/errors.js';
import { makeSocketFolder } from '../../base/socket-folders.js';

/**
 * Creates the folder with the sockets of the workers.
 * @throws GjallarError BAD_CONFIG
 */
export function makeMeshDirectory(): string {
  try {
    return makeSocketFolder();
  } catch (error) {
    throw new GjallarError(
      'BAD_CONFIG',
      `cannot create a folder for the sockets of the workers: ${(error as Error).message}. Set TMPDIR to a writable folder.`,
    );
  }
}
