import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io';
import { alone } from '../../../src/io/server/default-adapter.js';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { disconnectAll, pairOn, receivedBy } from './support/clients.js';
import { Machine, startMember, startNode, type TestNode } from './support/node.js';
import { startStock } from './support/stock.js';

type Node = Pick<TestNode, 'io' | 'url' | 'close'>;

async function startEmbedded(): Promise<Node> {
  const machine = await Machine.start();
  const node = await startMember(await machine.openBackplane());
  return {
    ...node,
    close: async () => {
      await node.close();
      await machine.remove();
    },
  };
}

/** What an application sees of a socket. Stock socket.io takes the same tests. */
describe.each<[string, () => Promise<Node>]>([
  ['stock socket.io', () => startStock()],
  ['native rooms', () => startNode(alone)],
  ['native rooms on the embedded bus', startEmbedded],
])('%s', (_name, start) => {
  let node: Node;

  beforeAll(async () => {
    node = await start();
    node.io.of('/changed').use((socket, next) => {
      Object.assign(socket.handshake, { user: 'ada', time: 'changed' });
      socket.handshake.query.added = 'yes';
      socket.handshake.auth.role = 'admin';
      next();
    });
    node.io.of('/frozen').use((socket, next) => {
      Object.freeze(socket.handshake);
      next();
    });
    node.io.of('/asking').use((socket, next) => {
      socket.emit('question', (answer: string) => socket.emit('answered', answer));
      next();
    });
  });

  afterEach(async () => {
    disconnectAll();
    await until(() => node.io.engine.clientsCount === 0);
  });

  afterAll(() => node.close());

  test('messages to the room of a socket, and past it', async () => {
    const pairs = [await pairOn(node), await pairOn(node), await pairOn(node)];
    const [one, two, three] = pairs.map(({ socket }) => socket) as [Socket, Socket, Socket];
    node.io.to(one.id).emit('to one');
    node.io.except(one.id).emit('not one');
    node.io.to([one.id, two.id, one.id]).emit('to two');
    two.to(one.id).emit('from two');
    two.to(two.id).emit('to itself');
    two.broadcast.emit('to others');
    node.io.to(two.id).socketsJoin(three.id);
    node.io.to(three.id).emit('joined');
    expect(await node.io.in(one.id).fetchSockets()).toHaveLength(1);
    const answered = node.io.local.in(three.id).timeout(30_000).emitWithAck('ask');
    for (const { client } of pairs) client.on('ask', (reply) => reply(client.id));
    expect((await answered).sort()).toEqual([two.id, three.id].sort());
    expect((await receivedBy(pairs, [node])).map((received) => received.map(([event]) => event))).toEqual([
      ['to one', 'to two', 'from two', 'to others'],
      ['not one', 'to two', 'joined', 'ask'],
      ['not one', 'to others', 'joined', 'ask'],
    ]);
  });

  test('handshake, of several clients in one second', async () => {
    for (let n = 0; n < 3; n++) {
      const { socket } = await pairOn(node, { auth: { token: 't' } });
      const { handshake } = socket;
      expect(Object.keys(handshake)).toEqual([
        'headers',
        'time',
        'address',
        'xdomain',
        'secure',
        'issued',
        'url',
        'query',
        'auth',
      ]);
      expect(Object.keys(JSON.parse(JSON.stringify(handshake)))).toEqual(Object.keys(handshake));
      const { time, issued } = handshake;
      expect(time).toBe(String(new Date(Math.floor(issued / 1000) * 1000)));
      expect(Object.getOwnPropertyDescriptor(handshake, 'time')).toEqual({
        value: time,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
  });

  test('handshake that a middleware has changed or frozen', async () => {
    for (let n = 0; n < 2; n++) {
      const { socket } = await pairOn(node, { namespace: '/changed' });
      expect(socket.handshake).toMatchObject({ user: 'ada', time: 'changed', auth: { role: 'admin' } });
      expect(socket.handshake.query.added).toBe('yes');
      const { socket: frozen } = await pairOn(node, { namespace: '/frozen' });
      expect(Object.isFrozen(frozen.handshake)).toBe(true);
    }
  });

  test('acknowledgements, from before the connection and after it', async () => {
    const { client, socket } = await pairOn(node);
    client.on('double', (n: number, reply: (n: number) => void) => reply(2 * n));
    client.on('silent', () => {});
    expect(await Promise.all([1, 2, 3].map((n) => socket.emitWithAck('double', n)))).toEqual([2, 4, 6]);
    await expect(socket.timeout(20).emitWithAck('silent')).rejects.toThrow('timed out');
    expect(await node.io.local.timeout(30_000).emitWithAck('double', 4)).toEqual([8]);
    const { client: asked, received } = await pairOn(node, { namespace: '/asking' });
    const [[event, reply]] = received as [[string, (answer: string) => void]];
    expect(event).toBe('question');
    reply('yes');
    expect(await nextEvent(asked, 'answered')).toEqual(['yes']);
  });
});
