import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { own } from '../../../support/children.js';
import { cleanEnvironment, runToEnd } from '../../../support/server.js';
import { pathOf } from '../support/application.js';

const main = fileURLToPath(new URL('../../../../dist/main.js', import.meta.url));

test.each([
  ['that ends by itself', 'parts/nothing.mjs', 'has ended without listening on a port; give gjallar run the file that'],
  ['that ends the process', 'parts/exits.mjs', 'ended with exit code 0 before it listened; its output above says why'],
])('an application %s ends the server at once, with one line', async (_what, app, reason) => {
  const { code, stderr } = await runToEnd(['run', pathOf(app)], { WORKERS: '2', LOG_LEVEL: 'silent' });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^gjallar: the application [^\n]+\n$/) });
  expect(stderr).toContain(reason);
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s before the application listens stops it, and is not called a failure',
  async (signal) => {
    const child = own(
      spawn(process.execPath, [main, 'run', pathOf('lifecycle/slow-start.mjs')], {
        env: { ...cleanEnvironment(), WORKERS: '2' },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.stdout.once('data', () => child.kill(signal));
    const [code] = await once(child, 'close');
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
  },
);
