import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { applicationWith } from '../io/server/support/package.js';
import { cleanEnvironment } from '../support/server.js';
import { blockOf } from './support/blocks.js';

const PAGE = 'docs/guide/live-data.md';

test.each([
  ['with StateMap', 'import { StateMap }'],
  ['without the package', 'const quotes = new Map'],
])('a client of docs/guide/live-data.md %s has the state of its server, after a reconnection too', (_, start) => {
  const server = blockOf(PAGE, 'import { createServer').replace('http.listen(3000)', 'http.listen(0)');
  const client = blockOf(PAGE, start).replaceAll('console.log', 'String');
  const application = applicationWith({
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
  try {
    const options = { cwd: application.folder, env: cleanEnvironment(), encoding: 'utf8', timeout: 60_000 } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['program.mjs'], options);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'snapshot\nchanges\n', stderr: '' });
  } finally {
    application.remove();
  }
});
