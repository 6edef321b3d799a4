import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the package's files lie that are not code. */
export function packageRoot(): string {
  return join(dirname(fileURLToPath(import.meta.url)), '..', '..');
}
