import { afterEach, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { runApp, stopAll } from './support/application.js';
import '../../support/long.js';

const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await stopAll();
});

test('clients on polling notice at once that their worker was killed, and their first attempt succeeds', async () => {
  const app = await runApp('chat.mjs', { env: { WORKERS: '2' } });
  for (let index = 0; index < 30; index++) {
    clients.push(io(app.url, { forceNew: true, transports: ['polling'] }));
  }
  await Promise.all(clients.map((client) => nextEvent(client as never, 'connect')));
  const failures: string[] = [];
  const returns = clients.map(
    (client) =>
      new Promise<string>((resolve) => {
        let reason = '';
        client.io.on('close', (why) => {
          // Not a second time: that would be a failed return.
          if (reason !== '') failures.push(why);
          reason = why;
        });
        client.io.on('reconnect_error', ({ message }) => failures.push(message));
        client.on('connect', () => resolve(reason));
      }),
  );
  const { workers } = (await (await fetch(`${app.admin}/api/stats`)).json()) as { workers: { pid: number }[] };
  const died = app.logged(({ msg }) => msg === 'a worker died and will be replaced');
  process.kill(workers[0]!.pid, 'SIGKILL');
  expect(await died).toMatchObject({ code: 'WORKERS_MISSING', signal: 'SIGKILL' });
  // Of 30 clients, some had a request or their session there. Without this, the first would wait for a missing ping.
  expect(await Promise.race(returns)).toBe('transport error');
  // A message reaches all of them, also those that have noticed nothing.
  const answers = await Promise.all(clients.map((client) => answerOf(client)));
  expect(answers).toEqual(clients.map(() => 'connected'));
  expect(failures).toEqual([]);
});

/** Resolves when the client is connected and the server has answered it. */
async function answerOf(client: Socket): Promise<string> {
  for (;;) {
    if (!client.connected) await nextEvent(client as never, 'connect');
    const connected = client.id;
    const lost = new Promise<boolean>((resolve) => client.once('disconnect', () => resolve(false)));
    const answered = client.emitWithAck('pid').then(
      () => true,
      () => false,
    );
    if ((await Promise.race([lost, answered])) && client.id === connected) return 'connected';
  }
}

// Of the primary's listening sockets: see src/cluster/primary/node-cluster.private.ts.
test('a connection that a worker had not accepted when it was killed ends with it', async () => {
  const app = await runApp('plain.mjs', { env: { WORKERS: '2' } });
  const { workers } = (await (await fetch(`${app.admin}/api/stats`)).json()) as { workers: { pid: number }[] };
  process.kill(workers[0]!.pid, 'SIGSTOP');
  let answered = 0;
  const requests = Array.from({ length: 6 }, async () => {
    await (await fetch(app.url, { headers: { connection: 'close' } })).text();
    answered++;
  });
  const ends = Promise.allSettled(requests);
  // The stopped worker is given one connection at a time, the other one all others.
  await until(() => answered === requests.length - 1);
  process.kill(workers[0]!.pid, 'SIGKILL');
  expect((await ends).map(({ status }) => status).sort()).toEqual([...Array(5).fill('fulfilled'), 'rejected']);
});
