import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder, which environment.mjs removes when the test file has ended. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-test-'));
  (globalThis as unknown as { testFolders: Set<string> }).testFolders.add(folder);
  return folder;
}
