import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const program = fileURLToPath(new URL('support/load-lines.mjs', import.meta.url));

test('docs/internals/load.md has a row for each folder of load, close counts, and no folder has many files', () => {
  const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^\d{2,} rows: \d+ lines today\n$/);
});
