import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { applicationWith } from '../io/server/support/package.js';
import { atEnd } from '../support/ends.js';
import { RedisProcess } from '../support/redis.js';
import { cleanEnvironment } from '../support/server.js';
import { blockOf } from './support/blocks.js';

const PAGE = 'docs/guide/durable-rooms.md';

test('server and client of docs/guide/durable-rooms.md keep what a client misses, in SQLite and in Redis', async () => {
  const redis = await RedisProcess.start();
  const server = blockOf(PAGE, 'import { createServer').replace('http.listen(3000)', 'http.listen(0)');
  const client = blockOf(PAGE, 'import { DurableRooms').replace("'http://localhost:3000'", 'url');
  const several = blockOf(PAGE, 'import { createDurableRooms, Redis')
    .replace('redis://localhost', redis.url)
    .replace('DurableRooms(io', "DurableRooms(io.of('/shared')");
  const application = applicationWith({
    'server.mjs': `${server}\nexport { http, io, orders };`,
    'shared.mjs': `import { io } from './server.mjs';\n${several}\nexport { orders, store };`,
    'program.mjs': `
      import { once } from 'node:events';
      import { http, io, orders } from './server.mjs';
      import { orders as shared, store } from './shared.mjs';
      if (!http.listening) await once(http, 'listening');
      const url = 'http://127.0.0.1:' + http.address().port;
      ${client}
      while (!order.position?.offset) await new Promise((resolve) => setTimeout(resolve, 10));
      console.log(await rooms.join('order:internal').catch(({ code }) => code));
      const [socket] = io.sockets.sockets.values();
      const ended = new Promise((resolve) => socket.once('disconnect', resolve));
      socket.conn.close();
      await ended;
      await orders.to('order:7').emit('status', 'shipped');
      while (order.position.offset < 2) await new Promise((resolve) => setTimeout(resolve, 10));
      console.log((await shared.to('order:8').emit('status')).offset);
      await io.close();
      await store.close();
      process.exit();
    `,
  });
  atEnd(() => redis.remove());
  const options = { cwd: application, env: cleanEnvironment(), encoding: 'utf8', timeout: 60_000 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['program.mjs'], options);
  const output = 'status { paid: true }\nROOM_FORBIDDEN\nstatus shipped\n1\n';
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: output, stderr: '' });
});
