import { expect, test } from '@jest/globals';
import { idPrefixOf } from '../../src/base/worker-name.js';
import { Mesh } from '../../src/cluster/mesh/mesh.js';
import { pack, senderOf } from '../../src/cluster/wire/envelope.js';
import { types } from '../../src/cluster/wire/types.js';
import { closeWebSockets, openWebSocket, type RawWebSocket } from '../engine/support/raw.js';
import {
  type ChatClient,
  connect,
  connected,
  disconnectAll,
  expectOk,
  nextEvent,
  workerOf,
} from '../support/clients.js';
import { type RunningServer, startServer } from '../support/server.js';
import { expectOnceAndInOrder } from '../support/talk.js';
import '../support/long.js';
import { temporaryFolder } from '../support/folder.js';

const MEGABYTE = 1024 * 1024;

/** A client on a certain worker, and what it takes to say so much in the hall that the client itself does not hold it up. */
async function startFlood(server: RunningServer, worker: number) {
  let client: RawWebSocket;
  let opening = '';
  do {
    client = openWebSocket(`${server.url}/socket.io/?EIO=4`);
    opening = String(await client.next());
  } while (!opening.includes(`"sid":"${idPrefixOf(worker)}`));
  client.send('40');
  const answer = async (start: string) => {
    for (;;) {
      const message = await client.next();
      if (message === undefined) throw new Error('the server has closed the connection');
      if (String(message).startsWith(start)) return;
    }
  };
  await answer('40');
  client.send('420["join","hall"]');
  await answer('430');
  const message = `42["message",${JSON.stringify({ room: 'hall', text: '€'.repeat(10_000) })}]`;
  /** Says three megabytes. */
  return async () => {
    for (let i = 0; i < 100; i++) client.send(message);
    client.send('421["echo",1]');
    await answer('431');
  };
}

test('a worker that does not read what it is sent is replaced before that fills the memory of the others', async () => {
  const server = await startServer({ WORKERS: '2', HISTORY_TTL: '0' });
  try {
    const clients = new Map<number, ChatClient>();
    while (clients.size < 2) {
      const client = connect(server.url, { transports: ['websocket'] });
      await connected(client);
      clients.set(await workerOf(client), client);
    }
    const [other, member] = [clients.get(1)!, clients.get(2)!];
    // Messages go only to workers that have members.
    expectOk(await member.emitWithAck('join', 'hall'));
    const flood = await startFlood(server, 1);
    const back = nextEvent(member, 'connect');
    process.kill(await server.pidOfWorker(2), 'SIGSTOP');
    const died = server.logged(({ msg }) => msg === 'a worker died and will be replaced');
    // On a busy machine, the flood takes so long that the primary would notice first that the worker does not respond.
    server.process.kill('SIGSTOP');
    // More than 64 MiB, which are three bytes a character on the link. Then worker 1 has nothing to do but to notice.
    try {
      for (let floods = 0; floods < 24; floods++) await flood();
    } finally {
      server.process.kill('SIGCONT');
    }
    expect(await died).toMatchObject({ worker: 2, signal: 'SIGKILL' });
    const reasons = server.log.filter(({ msg }) => String(msg).endsWith('and is killed'));
    expect(reasons).toMatchObject([
      { worker: 2, msg: 'a worker does not read messages from other workers and is killed' },
    ]);
    await Promise.all([back, server.pidOfWorker(3)]);
    expect(other.connected).toBe(true);
    for (const client of [other, member]) await client.emitWithAck('join', 'square');
    await expectOnceAndInOrder([other, member], 'square', 20);
  } finally {
    disconnectAll();
    closeWebSockets();
    await server.stop();
  }
});

test('a burst, however large, is no reason to give a worker up that reads it', async () => {
  const directory = temporaryFolder();
  const stuck: number[] = [];
  const [one, other] = [1, 2].map((id) => new Mesh(id, directory, (worker) => stuck.push(worker)));
  try {
    await one!.listen();
    await other!.listen();
    await other!.join([1]);
    let received = 0;
    const all = new Promise<void>((resolve) => {
      other!.on({
        onMessage: (_from, { body }) => {
          received += body.length;
          if (received === 100 * MEGABYTE) resolve();
        },
      });
    });
    const head = { type: types.broadcast, part: 0, from: senderOf(1, '') };
    for (let i = 0; i < 100; i++) one!.send(2, pack(head, Buffer.alloc(MEGABYTE)));
    expect(one!.pendingBytes).toBeGreaterThan(99 * MEGABYTE);
    await all;
    expect([stuck, one!.members, other!.members]).toEqual([[], [2], [1]]);
  } finally {
    one!.close();
    other!.close();
  }
});
