import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from '@jest/globals';

test('each alert fires where alerts.test.yml says so, and not otherwise', () => {
  const cwd = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url));
  execFileSync('promtool', ['test', 'rules', 'alerts.test.yml'], { cwd, stdio: 'pipe' });
});
