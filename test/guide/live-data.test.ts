import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { applicationWith } from '../io/server/support/package.js';
import { freePort } from '../support/ports.js';
import { cleanEnvironment } from '../support/server.js';
import { blockOf } from './support/blocks.js';

const PAGE = 'docs/guide/live-data.md';

/** Runs a program, and returns what it prints. */
function outputOf(files: Record<string, string>): string {
  const application = applicationWith(files);
  const options = { cwd: application, env: cleanEnvironment(), encoding: 'utf8', timeout: 60_000 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['program.mjs'], options);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

test('the server and the client of docs/guide/live-data.md print what the page says, as they are printed', async () => {
  const port = String(await freePort());
  const stdout = outputOf({
    'server.mjs': blockOf(PAGE, '// server.mjs').replace('3000', port),
    'client.mjs': blockOf(PAGE, '// client.mjs').replace('3000', port),
    'program.mjs': `
      const { log } = console;
      let printed = 0;
      console.log = (...values) => {
        log(...values);
        if (++printed === 2) process.exit();
      };
      await import('./server.mjs');
      await import('./client.mjs');
    `,
  });
  const [first, second] = stdout.trim().split('\n');
  expect(first).toBe("[ 'AAPL' ] { bid: 187.1, ask: 187.2 }");
  expect(second).toMatch(/^\[ 'AAPL' \] \{ bid: 187(\.\d+)?, ask: 187\.2 \}$/);
});

test.each([
  ['with StateMap', '// client.mjs'],
  ['without the package', 'const quotes = new Map'],
])('a client of docs/guide/live-data.md %s has the state of its server, after a reconnection too', (_, start) => {
  const server = blockOf(PAGE, '// server.mjs')
    .replace('http.listen(3000)', 'http.listen(0)')
    .replace(/^setInterval.*$/m, "quotes.delete('AAPL');");
  const client = blockOf(PAGE, start)
    .replace(/^(import .*socket\.io-client|const socket = ).*$/gm, '')
    .replaceAll('console.log', 'String');
  const stdout = outputOf({
    'server.mjs': `${server}\nexport { http, io, quotes };`,
    'program.mjs': `
      import { once } from 'node:events';
      import { io as connect } from 'socket.io-client';
      import { http, io, quotes as published } from './server.mjs';
      if (!http.listening) await once(http, 'listening');
      const socket = connect('http://127.0.0.1:' + http.address().port);
      ${client}
      const expected = async (text) => {
        while (JSON.stringify([...quotes]) !== text) await new Promise((resolve) => socket.once('quotes', resolve));
      };
      published.set('MSFT', { bid: 1, ask: 3 });
      published.set('ORCL', 7);
      await expected('[["MSFT",{"bid":1,"ask":3}],["ORCL",7]]');
      console.log('snapshot');
      socket.disconnect();
      published.patch('MSFT', { bid: 2 });
      published.delete('ORCL');
      socket.connect();
      await expected('[["MSFT",{"bid":2,"ask":3}]]');
      console.log('changes');
      socket.disconnect();
      await io.close();
    `,
  });
  expect(stdout).toBe('snapshot\nchanges\n');
});
