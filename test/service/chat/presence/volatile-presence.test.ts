import type { Socket as TcpSocket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { type ChatClient, connect, connected, disconnectAll, expectOk } from '../../../support/clients.js';
import { atEnd } from '../../../support/ends.js';
import { startServiceHere as startServer } from '../../../support/service-here.js';

afterEach(disconnectAll);

/** The TCP connection of a client that is on a WebSocket. */
function connectionOf(client: ChatClient): TcpSocket {
  return (client.io.engine.transport as unknown as { ws: { _socket: TcpSocket } }).ws._socket;
}

test.each([
  ['close', true],
  ['drop-volatile', false],
])('with SLOW_POLICY=%s a member who is behind is told of changes of presence: %p', async (policy, isTold) => {
  const server = await startServer({
    WORKERS: '1',
    HISTORY_TTL: '0',
    SLOW_POLICY: policy,
    MAX_BACKPRESSURE: '1000000000',
  });
  atEnd(disconnectAll, () => server.stop());
  const come = async (name: string) => {
    const client = connect(server.url, { transports: ['websocket'], auth: { name } });
    await connected(client);
    expectOk(await client.emitWithAck('join', 'hall'));
    return client;
  };
  const [slow, writer] = [await come('slow'), await come('writer')];
  const joined: string[] = [];
  slow.on('presence', (presence) => joined.push(...(presence.joined ?? [])));
  const fence = new Promise<void>((resolve) => {
    slow.on('message', ({ text }) => text === 'fence' && resolve());
  });
  connectionOf(slow).pause();
  // More than the system's buffers take.
  for (let i = 0; i < 15; i++) {
    const said = Array.from({ length: 100 }, () =>
      writer.emitWithAck('message', { room: 'hall', text: 'x'.repeat(9_900) }),
    );
    for (const reply of await Promise.all(said)) expectOk(reply);
  }
  const told = new Promise<void>((resolve) => {
    writer.on('presence', (presence) => presence.joined?.includes('late') && resolve());
  });
  await come('late');
  await told;
  connectionOf(slow).resume();
  expectOk(await writer.emitWithAck('message', { room: 'hall', text: 'fence' }));
  await fence;
  expect(joined.includes('late')).toBe(isTold);
  expect(slow.connected).toBe(true);
});
