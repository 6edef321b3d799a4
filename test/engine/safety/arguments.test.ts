import { afterEach, describe, expect, test } from '@jest/globals';
import { MAX_ARGUMENTS } from '../../../src/engine/parser/parser.js';
import { disconnectAll } from '../../support/clients.js';
import { serveGjallar } from '../support/application.js';
import { closeEngines } from '../support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from '../support/raw.js';

/** Socket.IO passes the values of a packet as arguments, and too many of them overflow the stack. */

const zeros = (count: number) => Array(count).fill(0);
const PLACEHOLDER = { _placeholder: true, num: 0 };
const bytes = Buffer.of(1, 2, 3);

/** Each kind of packet with this number of values, as its text and its attachment. */
const kinds: [string, (count: number) => [string, Buffer?]][] = [
  ['an event', (count) => [`2${JSON.stringify(['z', ...zeros(count)])}`]],
  ['an event with an acknowledgement', (count) => [`27${JSON.stringify(['z', ...zeros(count)])}`]],
  ['an acknowledgement', (count) => [`30${JSON.stringify(zeros(count))}`]],
  ['a binary event', (count) => [`51-${JSON.stringify(['z', PLACEHOLDER, ...zeros(count - 1)])}`, bytes]],
  ['a binary acknowledgement', (count) => [`61-0${JSON.stringify([PLACEHOLDER, ...zeros(count - 1)])}`, bytes]],
];

interface Client {
  send(text: string, attachment?: Buffer): void;
  /** Resolves when the server has ended the session. */
  ended: Promise<unknown>;
}

/** The ways to the server, each with a client that is connected to the main namespace. */
const transports: [string, (url: string) => Promise<Client>][] = [
  [
    'a WebSocket',
    async (url) => {
      const client = openWebSocket(url);
      await client.next();
      client.send('40');
      await client.next();
      const send = (text: string, attachment?: Buffer) => {
        client.send(`4${text}`);
        if (attachment) client.send(attachment);
      };
      return { send, ended: client.closed };
    },
  ],
  [
    'POST',
    async (url) => {
      const client = await openPolling(url);
      await client.post('40');
      const polls = async () => {
        let status = 200;
        while (status === 200) [status] = await client.poll().catch(() => [0] as [number]);
      };
      const send = (text: string, attachment?: Buffer) => {
        const parts = [`4${text}`, ...(attachment ? [`b${attachment.toString('base64')}`] : [])];
        void client.post(parts.join('\x1e'));
      };
      return { send, ended: polls() };
    },
  ],
];

afterEach(() => {
  disconnectAll();
  closeWebSockets();
  closeEngines();
});

describe.each(kinds)('%s', (_kind, packet) => {
  test.each(transports)('over %s may carry 64 values and no more', async (_transport, open) => {
    let received: (count: number) => void = () => {};
    const lengthsReceived: number[] = [];
    const served = await serveGjallar((io) => {
      io.on('connection', (socket) => {
        const count = (...values: unknown[]) => {
          const { length } = values.filter((value) => typeof value !== 'function');
          lengthsReceived.push(length);
          received(length);
        };
        socket.on('z', count);
        // The acknowledgements answer this event.
        socket.emit('question', count);
      });
    });
    const url = `${served.url}/socket.io/?EIO=4`;
    const arrived = new Promise<number>((resolve) => {
      received = resolve;
    });
    (await open(url)).send(...packet(MAX_ARGUMENTS));
    expect(await arrived).toBe(64);
    const client = await open(url);
    client.send(...packet(MAX_ARGUMENTS + 1));
    await client.ended;
    expect(lengthsReceived).toEqual([64]);
    await served.close();
  });
});
