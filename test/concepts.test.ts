import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const program = fileURLToPath(new URL('support/concept-lines.mjs', import.meta.url));

test('docs/internals/concepts.md has a row for each file of src, and counts that are close', () => {
  const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^\d{2,} rows: \d+ lines before, \d+ today\n$/);
});
