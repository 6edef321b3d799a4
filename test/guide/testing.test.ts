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
  try {
    const run = (file: string) =>
      spawnSync(
        process.execPath,
        ['--experimental-vm-modules', join(root, 'node_modules/jest/bin/jest.js'), '--rootDir', '.', file],
        { cwd: application.folder, env: cleanEnvironment(), encoding: 'utf8', timeout: 60_000 },
      );
    expect(run('right.test.js')).toMatchObject({ status: 0 });
    const wrong = run('wrong.test.js');
    expect(wrong.status).toBe(1);
    expect(wrong.stderr).toContain('Received: 63');
  } finally {
    application.remove();
  }
});
