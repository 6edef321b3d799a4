import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { applicationWith, root } from '../io/server/support/package.js';
import { cleanEnvironment } from '../support/server.js';
import { blockOf } from './support/blocks.js';

test('docs/guide/testing.md: the test passes, and fails if the application is wrong', () => {
  const code = blockOf('docs/guide/testing.md', 'import { afterAll, afterEach');
  const application = applicationWith({
    'package.json': '{ "type": "module" }',
    'right.test.js': code,
    'wrong.test.js': code.replace('2 * number', '3 * number'),
  });
  const jest = ['--experimental-vm-modules', join(root, 'node_modules/jest/bin/jest.js'), '--rootDir', '.'];
  const options = { cwd: application, env: cleanEnvironment(), encoding: 'utf8', timeout: 60_000 } as const;
  const { status, stderr } = spawnSync(process.execPath, jest, options);
  expect(status).toBe(1);
  expect(stderr.match(/^(PASS|FAIL) \S+/gm)?.sort()).toEqual(['FAIL ./wrong.test.js', 'PASS ./right.test.js']);
  expect(stderr).toContain('Received: 63');
});
