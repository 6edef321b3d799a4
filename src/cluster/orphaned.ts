import { rmdirSync } from 'node:fs';

/**
 * Removes the folder of the workers' sockets at this worker's end if the primary, whose folder it is, was killed. To be
 * called when this worker's own socket is there, so that it is removed before.
 */
export function removeWhereOrphaned(directory: string): void {
  process.once('exit', () => {
    if (process.connected) return;
    try {
      rmdirSync(directory);
    } catch {
      // The last worker does it.
    }
  });
}
