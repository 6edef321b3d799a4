import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import type { RoomPresence } from '../../../../src/service/chat/protocol.js';
import { type ChatClient, connect, connected, disconnectAll, expectOk } from '../../../support/clients.js';
import { sharedServer } from '../../../support/server.js';
import { until } from '../../../support/until.js';

const server = sharedServer({ WORKERS: '2' });

afterEach(disconnectAll);

/** Someone in a room, with everything that they were told of it. */
class Witness {
  readonly told: RoomPresence[] = [];
  private readonly watchers = new Set<() => void>();

  private constructor(readonly client: ChatClient) {
    client.on('presence', (presence) => {
      this.told.push(presence);
      for (const watcher of this.watchers) watcher();
    });
  }

  /** Joins, and waits until told of that. */
  static async join(room: string): Promise<Witness> {
    const witness = new Witness(user('Witness'));
    await join(witness.client, room);
    await witness.sees(1);
    witness.told.length = 0;
    return witness;
  }

  /** Resolves when the last that was told is so many members. */
  sees(members: number): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (this.told.at(-1)?.members !== members) return;
        this.watchers.delete(check);
        resolve();
      };
      this.watchers.add(check);
      check();
    });
  }

  /** The names of all who have joined. */
  joined(): string[] {
    return this.told.flatMap((presence) => presence.joined ?? []).sort();
  }
}

function user(name: string): ChatClient {
  return connect(server.url, { auth: { name }, transports: ['websocket'] });
}

async function join(client: ChatClient, room: string): Promise<void> {
  await connected(client);
  expectOk(await client.emitWithAck('join', room));
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => `user${String(index).padStart(3, '0')}`);

test('who comes and who goes is told, however they go', async () => {
  const witness = await Witness.join('doors');
  const ways = [(client: ChatClient) => client.emit('leave', 'doors'), (client: ChatClient) => client.disconnect()];
  for (const go of ways) {
    witness.told.length = 0;
    const client = user('Astrid');
    await join(client, 'doors');
    await witness.sees(2);
    go(client);
    await witness.sees(1);
    expect(witness.told).toEqual([
      { room: 'doors', members: 2, joined: ['Astrid'], left: [] },
      { room: 'doors', members: 1, joined: [], left: ['Astrid'] },
    ]);
  }
});

test('in a room of more than 100 members the count alone is told', async () => {
  const witness = await Witness.join('hall');
  const clients = numbered(99).map((name) => user(name));
  await Promise.all(clients.map((client) => join(client, 'hall')));
  await witness.sees(100);
  expect(witness.joined()).toEqual(numbered(99));

  witness.told.length = 0;
  const last = user('The last');
  await join(last, 'hall');
  await witness.sees(101);
  expect(witness.told).toEqual([{ room: 'hall', members: 101 }]);
  last.disconnect();
  await witness.sees(100);
  expect(witness.told[1]).toMatchObject({ room: 'hall', members: 100 });
});

test('a client that ends its connection behind many events is in no room', async () => {
  const stats = async () =>
    (await (await fetch(`${server.url}/api/stats`)).json()) as {
      totals: { clients: number };
      rooms: { room: string }[];
    };
  const ends = async (room: string) => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`);
    await once(socket, 'message');
    socket.send('40{"name":"Leaver"}');
    await once(socket, 'message');
    const { _socket: tcp } = socket as unknown as { _socket: Socket };
    tcp.cork();
    for (let count = 0; count < 50; count++) socket.send(`420["join","${room}"]`);
    tcp.uncork();
    tcp.end();
    await once(socket, 'close');
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => ends(`left behind ${index}`)));
  // A room that a client has left behind would stay.
  await until(async () => {
    const { totals, rooms } = await stats();
    return totals.clients === 0 && !rooms.some(({ room }) => room.startsWith('left behind'));
  });
});
