import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { clientFrame, opcodes } from '../../support/frames.js';
import { TestClock } from '../support/clock.js';
import { closeEngines, eventOf, startEngine } from '../support/engine.js';

/** WebSocket messages of which only a part arrives. uWebSockets.js keeps the part, and does not report it. */

let socket: Socket | undefined;

afterEach(() => {
  socket?.destroy();
  closeEngines();
});

describe.each([3, 4] as const)('parts of messages of revision %d', (version) => {
  test('end the session, although the client answers the pings of WebSocket', async () => {
    const clock = new TestClock();
    const { port, nextSession, engine } = await startEngine({ allowEIO3: true }, { clock, version });
    const opened = nextSession();
    socket = connect(port, '127.0.0.1');
    socket.write(
      `GET /socket.io/?EIO=${version}&transport=websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
    );
    const session = await opened;
    const part = clientFrame(opcodes.text, Buffer.from(`4${'x'.repeat(900_000)}`));
    // Without its final bit, a frame is the first part of a message.
    part[0]! &= 0x7f;
    socket.write(part);
    const ended = eventOf<[string]>(session, 'close');
    for (let time = 0; time < 45_000; time += 5000) {
      socket.write(clientFrame(opcodes.ping, Buffer.from('alive')));
      await once(socket, 'data');
      expect(session.readyState).toBe('open');
      clock.advance(5000);
    }
    expect((await ended)[0]).toBe('ping timeout');
    expect(engine.clientsCount).toBe(0);
  });
});
