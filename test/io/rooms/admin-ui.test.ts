import { afterEach, expect, test } from '@jest/globals';
import { instrument } from '@socket.io/admin-ui';
import type { Server } from 'socket.io';
import { nextEvent } from '../../support/clients.js';
import { classes, client, closeAll, run } from '../server/support/servers.js';

/** What admin-ui has counted since it last reported, which it does every two seconds. */
function countsOf(io: Server): Record<string, number> {
  const { _eventBuffer } = io as unknown as {
    _eventBuffer: { getValuesAndClear(): { type: string; subType?: string; count: number }[] };
  };
  const counts: Record<string, number> = {};
  for (const { type, count } of _eventBuffer.getValuesAndClear()) counts[type] = (counts[type] ?? 0) + count;
  return counts;
}

interface Recorded {
  readonly counts: Record<string, number>;
  readonly sent: unknown[];
  /** How often the server sent to a single member. */
  readonly direct: number;
}

/** An application with admin-ui, a room of six members, and three broadcasts to the room. */
async function record(Class: (typeof classes)[number][1], mode: 'production' | 'development'): Promise<Recorded> {
  const { io, url } = await run(Class);
  instrument(io, { auth: false, mode });
  io.on('connection', (socket) => void socket.join('room'));
  const admin = client(`${url}/admin`);
  await nextEvent(admin, 'connect');
  const sent: unknown[] = [];
  admin.on('event_sent', (_namespace, id: string, args: unknown[]) => sent.push([id, ...args]));
  const members = Array.from({ length: 6 }, () => client(url, { transports: ['websocket'] }));
  const ids = await Promise.all(members.map((one) => nextEvent(one, 'connect').then(() => one.id as string)));
  // The first broadcast makes the room a topic.
  const heard = Promise.all(members.flatMap((one) => [nextEvent(one, 'first'), nextEvent(one, 'last')]));
  let direct = 0;
  for (const { conn } of io.sockets.sockets.values()) {
    conn.on('flush', () => {
      direct++;
    });
  }
  countsOf(io);
  io.to('room').emit('first', 'ö');
  io.to('room')
    .except(ids[0]!)
    .emit('binary', Buffer.from([1, 2, 3]));
  const counts = countsOf(io);
  io.to('room').emit('last');
  await heard;
  if (mode === 'development') {
    // The admin may hear late of the rooms that the members joined.
    const told = new Promise<void>((resolve) =>
      admin.on('room_joined', (_namespace, room: string) => room === 'fence' && resolve()),
    );
    io.in(ids[0]!).socketsJoin('fence');
    await told;
  }
  return {
    counts,
    sent: sent.map((values) => [ids.indexOf((values as string[])[0]!), ...(values as []).slice(1)]),
    direct,
  };
}

afterEach(closeAll);

test.each(['production', 'development'] as const)('admin-ui counts what topics deliver, in %s mode', async (mode) => {
  const stock = await record(classes[0][1], mode);
  const ours = await record(classes[1][1], mode);
  expect(ours.counts).toEqual(stock.counts);
  expect(ours.sent).toEqual(stock.sent);
  expect(stock.sent).toHaveLength(mode === 'development' ? 17 : 0);
  expect(stock.counts.packetsOut).toBeGreaterThanOrEqual(6 + 2 * 5);
  expect(stock.direct).toBeGreaterThan(0);
  expect(ours.direct).toBe(0);
});
