import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { runApp, stopAll } from './support/application.js';

// What Socket.IO documents for several servers, through real processes. test/cluster/backplanes/bus.contract.ts has the rest.

const WORKERS = 3;

/** A client of one worker, with all the events that it gets. */
interface Client {
  readonly socket: Socket;
  readonly worker: number;
  readonly received: unknown[][];
}

type Step = readonly [method: string, ...values: unknown[]];

describe('three workers under gjallar run', () => {
  let url: string;
  let clients: Client[];
  let one: Client;
  let two: Client;

  beforeAll(async () => {
    ({ url } = await runApp('chain.mjs', { args: ['--workers', String(WORKERS)] }));
    await connectAll();
  });

  afterAll(async () => {
    for (const { socket } of clients) socket.disconnect();
    await stopAll();
  });

  /** Connects a client to each worker. */
  async function connectAll(): Promise<void> {
    const found = new Map<number, Client>();
    while (found.size < WORKERS) {
      const socket = io(url, { forceNew: true, transports: ['websocket'], reconnection: false, auth: { key: 'mine' } });
      await nextEvent(socket, 'connect');
      const worker = (await socket.emitWithAck('worker')) as number;
      if (found.has(worker)) socket.disconnect();
      else found.set(worker, { socket, worker, received: [] });
    }
    clients = [...found.values()].sort((a, b) => a.worker - b.worker);
    [one, two] = clients as [Client, Client, Client];
    for (const { socket, received } of clients) {
      socket.onAny((event, ...values) => {
        if (event !== 'question') received.push([event, ...values]);
      });
    }
  }

  beforeEach(async () => {
    await chain(one, ['socketsLeave', ['room1', 'room2']]);
    await fence();
    for (const { received } of clients) received.length = 0;
  });

  /** Calls methods of the server on the worker of a client. */
  async function on(client: Client, target: string, ...steps: Step[]): Promise<unknown> {
    const { value, error } = (await client.socket.emitWithAck('chain', target, steps)) as Record<string, unknown>;
    if (error !== undefined) throw new Error(String(error));
    return value;
  }
  const chain = (client: Client, ...steps: Step[]) => on(client, 'server', ...steps);

  /** Waits until all clients have what the workers sent them until now. */
  async function fence(): Promise<void> {
    for (const client of clients) await chain(client, ['emit', 'fence', client.worker]);
    await until(() =>
      clients.every(({ received }) => received.filter(([event]) => event === 'fence').length >= WORKERS),
    );
    for (const { received } of clients) {
      const kept = received.filter(([event]) => event !== 'fence');
      received.splice(0, received.length, ...kept);
    }
  }

  /** What each client has received. */
  async function received(): Promise<unknown[][][]> {
    await fence();
    return clients.map((client) => client.received.splice(0));
  }

  describe('broadcasts', () => {
    test('reach a dynamic namespace of another worker by its name, and not by its parent', async () => {
      const socket = two.socket.io.socket('/dynamic-1');
      await nextEvent(socket, 'connect');
      const event = nextEvent(socket, 'test');
      await on(one, 'dynamic', ['emit', 'test', 'by the parent']);
      await on(one, '/dynamic-1', ['emit', 'test', 'by the name']);
      expect(await event).toEqual(['by the name']);
      const second = nextEvent(socket, 'test');
      await on(two, 'dynamic', ['emit', 'test', 'by the parent']);
      expect(await second).toEqual(['by the parent']);
      socket.disconnect();
      expect(await received()).toEqual([[], [], []]);
    });

    test('of a socket leave out that socket', async () => {
      await chain(one, ['socketsJoin', 'room1']);
      await fence();
      await on(one, 'socket', ['to', 'room1'], ['emit', 'test']);
      expect(await received()).toEqual([[], [['test']], [['test']]]);
    });

    test('are heard before what their acknowledgement leads another worker to send', async () => {
      const rounds = 200;
      for (const { socket } of clients) await socket.emitWithAck('chain', 'socket', [['join', 'room1']]);
      for (let round = 0; round < rounds; round++) {
        await chain(one, ['to', 'room1'], ['emit', 'said', `question ${round}`]);
        await chain(two, ['to', 'room1'], ['emit', 'said', `answer ${round}`]);
      }
      let wrong = 0;
      for (const events of await received()) {
        const texts = events.map(([, text]) => text);
        expect(texts).toHaveLength(2 * rounds);
        for (let round = 0; round < rounds; round++) {
          if (texts.indexOf(`answer ${round}`) < texts.indexOf(`question ${round}`)) wrong++;
        }
      }
      // Of 600: 80 and more if acknowledgements did not wait; otherwise none, or a few on an overloaded machine.
      expect(wrong).toBeLessThan(40);
    });
  });

  describe('broadcasts with acknowledgements', () => {
    /** Lets the clients answer a question. */
    function answering(...answers: unknown[]): void {
      for (const [index, { socket }] of clients.entries()) {
        socket.off('question');
        socket.on('question', (answer: (value: unknown) => void) => {
          if (answers[index] !== undefined) answer(answers[index]);
        });
      }
    }

    test('fail after the timeout, with the answers that came', async () => {
      answering(1, 2, undefined);
      const steps = [
        // Long enough for the others to answer on a busy machine.
        ['timeout', 4000],
        ['emitWithAck', 'question'],
      ];
      const answer = await one.socket.emitWithAck('chain', 'server', steps);
      expect(answer.error).toBe('operation has timed out');
      expect(answer.responses.sort()).toEqual([1, 2]);
    });
  });

  describe('fetchSockets', () => {
    test('returns the sockets of all workers, with their rooms, data and handshake', async () => {
      await Promise.all(clients.map(({ socket }, index) => socket.emitWithAck('name', `client ${index}`)));
      const sockets = (await chain(one, ['fetchSockets'])) as { id: string }[];
      const expected = clients.map(({ socket }, index) => ({
        ...{ id: socket.id, rooms: [socket.id], data: { name: `client ${index}` }, auth: { key: 'mine' } },
      }));
      const inOrder = (list: { id?: string | undefined }[]) => list.sort((a, b) => a.id!.localeCompare(b.id!));
      expect(inOrder(sockets)).toEqual(inOrder(expected));
    });
  });
});
