import { readdirSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folder.js';
import { runToEnd, startServer } from '../support/server.js';

const preload = new URL('support/signal-at-start.mjs', import.meta.url).href;
const at = (signal: string) => ({ NODE_OPTIONS: `--import=${preload}`, SIGNAL_AT_START: signal });

async function stateOf(url: string): Promise<unknown> {
  const response = await fetch(`${url}/readyz`);
  return ((await response.json()) as { state?: unknown }).state;
}

describe('a signal that arrives before the primary has loaded its modules is obeyed later', () => {
  test('SIGHUP reloads the chat service', async () => {
    const server = await startServer({ WORKERS: '1', ...at('SIGHUP') });
    await server.logged(({ msg }) => msg === 'reload finished');
    expect(await server.stop()).toBe(0);
  });

  test('SIGUSR2 drains the chat service', async () => {
    const server = await startServer({ WORKERS: '1', ...at('SIGUSR2') });
    await server.logged(({ msg }) => msg?.startsWith('draining all clients to other machines') ?? false);
    expect(await stateOf(server.url)).toBe('draining');
    expect(await server.stop()).toBe(0);
  });
});

test.each(['SIGTERM', 'SIGINT'])(
  '%s that arrives that early ends the server with code 0, and leaves nothing',
  async (signal) => {
    const folder = temporaryFolder();
    expect(await runToEnd([], { PORT: '0', TMPDIR: folder, DATA_DIR: folder, ...at(signal) })).toMatchObject({
      code: 0,
      stdout: '',
    });
    expect(readdirSync(folder)).toEqual([]);
  },
);

test.each(['SIGHUP', 'SIGUSR2'])('%s ends a tool, as by default', async (signal) => {
  expect(await runToEnd(['doctor'], at(signal))).toMatchObject({ code: null, stdout: '' });
});
