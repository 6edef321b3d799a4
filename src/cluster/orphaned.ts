import { rmdirSync } from 'node:fs';

/**
 * Removes the folder of the workers' sockets when this worker exits, if the primary was killed and could not do it.
 * Call it once this worker's own socket exists, so that the socket is removed first.
 */
export function removeWhereOrphaned(directory: string): void {
  process.once('exit', () => {
    if (process.connected) return;
    try {
      rmdirSync(directory);
    } catch {
      // Other workers still have sockets in it. The last worker removes it.
    }
  });
}
