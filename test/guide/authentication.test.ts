import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { applicationWith } from '../io/server/support/package.js';
import { cleanEnvironment } from '../support/server.js';
import { blockOf } from './support/blocks.js';

const PAGE = 'docs/guide/authentication.md';

test('server and client of docs/guide/authentication.md renew a token on a live socket', () => {
  const application = applicationWith({
    'server.mjs': `${blockOf(PAGE, 'import { createServer }').replace('listen(3000)', 'listen(0)')}
      export { http, io };`,
    'client.mjs': `import { SignJWT } from 'jose';
      import { http } from './server.mjs';
      export const tokenOf = (name, seconds) =>
        new SignJWT().setProtectedHeader({ alg: 'HS256' }).setSubject(name)
          .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
          .sign(new TextEncoder().encode(process.env.JWT_SECRET));
      const getToken = () => tokenOf('ada', 3);
      const url = 'http://127.0.0.1:' + http.address().port;
      ${blockOf(PAGE, 'import { decodeJwt }').replace("'http://localhost:3000'", 'url')}
      export { socket, url };
      export const stop = () => { clearTimeout(timer); token = ''; };`,
    'program.mjs': `
      import { once } from 'node:events';
      import { io as connect } from 'socket.io-client';
      import { http, io } from './server.mjs';
      if (!http.listening) await once(http, 'listening');
      const { socket, stop, tokenOf, url } = await import('./client.mjs');
      await new Promise((resolve) => socket.once('connect', resolve));
      const [server] = io.sockets.sockets.values();
      const first = server.data.identity.exp;
      // It outlives its first token.
      const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
      while (Date.now() < (first + 1) * 1000) await pause();
      console.log(socket.connected, server.data.identity.exp > first);
      // No renewal is in progress just after one.
      const { exp } = server.data.identity;
      while (server.data.identity.exp === exp) await pause();
      await socket.emitWithAck('token', 7);
      stop();
      const tokens = await Promise.all([1, 2].map(() => tokenOf('ada', 60)));
      // In one turn: the second arrives while the first is checked.
      const both = await Promise.all(tokens.map((token) => socket.emitWithAck('token', token)));
      console.log(both.map(({ ok, code }) => code ?? ok).join());
      console.log((await socket.emitWithAck('token', await tokenOf('bo', 60))).code, (await socket.emitWithAck('token', 7)).code);
      const short = await tokenOf('ada', 2);
      const ended = new Promise((resolve) => socket.once('disconnect', resolve));
      console.log((await socket.emitWithAck('token', short)).ok, await ended);
      const other = connect(url, { auth: { token: 'none' }, forceNew: true });
      console.log((await new Promise((resolve) => other.once('connect_error', resolve))).message);
      process.exit();
    `,
  });
  const env = { ...cleanEnvironment(), JWT_SECRET: 'a secret of at least 32 characters, for this test' };
  const options = { cwd: application, env, encoding: 'utf8', timeout: 60_000 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['program.mjs'], options);
  const output = [
    'true true',
    'true,RATE_LIMITED',
    'TOKEN_OTHER_USER TOKEN_INVALID',
    'true io server disconnect',
    'TOKEN_INVALID',
  ];
  expect({ status, lines: stdout.trim().split('\n'), stderr }).toEqual({ status: 0, lines: output, stderr: '' });
});
