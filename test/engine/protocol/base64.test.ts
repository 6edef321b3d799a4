import { afterEach, describe, expect, test } from '@jest/globals';
import { client, closeAll } from '../../io/server/support/servers.js';
import { serveGjallar } from '../support/application.js';
import { closeEngines, eventOf, startEngine } from '../support/engine.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';

/** Clients that cannot read binary data: `forceBase64` of engine.io-client. Source: engine.io-parser, `encodePacket`. */

const open: { close(): unknown }[] = [];

afterEach(async () => {
  closeWebSockets();
  for (const one of open.splice(0)) await one.close();
  await closeAll();
  closeEngines();
});

const BYTES = Buffer.from([0, 1, 254, 255]);

async function serve() {
  const served = await serveGjallar((io) => {
    io.on('connection', (socket) => {
      socket.join('room');
      socket.on('echo', (bytes, reply) => reply(bytes));
      socket.on('shout', (bytes) => io.to('room').emit('shout', bytes));
    });
  });
  open.push(served);
  return served;
}

describe('a client that needs base64', () => {
  test('sends and gets binary data as text on a WebSocket', async () => {
    const { url, nextSession } = await startEngine();
    const opened = nextSession();
    const raw = openWebSocket(`${url}&b64=1`);
    const session = await opened;
    await raw.next();
    const heard = eventOf(session, 'data');
    raw.send(`b${BYTES.toString('base64')}`);
    expect(await heard).toEqual([BYTES]);
    session.send(BYTES);
    expect(await raw.next()).toBe(`b${BYTES.toString('base64')}`);
  });

  test('gets what a room gets as text too, and the others get it as bytes', async () => {
    const { url } = await serve();
    const members = await Promise.all(
      ['', '', '&b64=1'].map(async (parameter) => {
        const raw = openWebSocket(`${url}/socket.io/?EIO=4${parameter}`);
        await raw.next();
        raw.send('40');
        await raw.next();
        return raw;
      }),
    );
    const event = '451-["shout",{"_placeholder":true,"num":0}]';
    for (let round = 0; round < 2; round++) {
      members[2]!.send(event);
      members[2]!.send(`b${BYTES.toString('base64')}`);
      for (const { next } of members) expect(await next()).toBe(event);
      expect(await Promise.all(members.map(({ next }) => next()))).toEqual([
        BYTES,
        BYTES,
        `b${BYTES.toString('base64')}`,
      ]);
    }
  });

  test.each([[['websocket']], [['polling']], [['polling', 'websocket']]])('takes part, on %j', async (transports) => {
    const { url } = await serve();
    const socket = client(url, { transports, forceBase64: true });
    await eventOf(socket as never, 'connect');
    const { engine } = socket.io;
    if (engine.transport.name !== transports.at(-1)) await eventOf(engine as never, 'upgrade');
    expect(await socket.emitWithAck('echo', BYTES)).toEqual(BYTES);
    const shout = eventOf(socket as never, 'shout');
    socket.emit('shout', BYTES);
    expect(await shout).toEqual([BYTES]);
  });
});
