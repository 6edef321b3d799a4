import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { own } from '../../../support/children.js';
import { cleanEnvironment } from '../../../support/server.js';
import { pathOf } from '../support/application.js';

const main = fileURLToPath(new URL('../../../../dist/main.js', import.meta.url));

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
