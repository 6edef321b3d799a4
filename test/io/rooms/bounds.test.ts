import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Manager } from 'socket.io-client';
import { closeWebSockets, openWebSocket } from '../../engine/support/raw.js';
import { nextEvent } from '../../support/clients.js';
import { classes, client, closeAll, closeLater, run } from '../server/support/servers.js';

const [, [, Server]] = classes;

afterEach(() => {
  closeWebSockets();
  return closeAll();
});

/** A client of several namespaces. */
function managed(url: string): Manager {
  const manager = new Manager(url, { reconnection: false });
  closeLater({ close: () => manager.engine.close() });
  return manager;
}

/** Connects a client, and resolves to what it gets for a namespace. */
async function enter(manager: Manager, name: string): Promise<string> {
  const socket = manager.socket(name);
  return Promise.race([
    nextEvent(socket, 'connect').then(() => 'connected'),
    nextEvent<[Error & { data?: { code: string } }]>(socket, 'connect_error').then(([error]) => error.data?.code ?? ''),
  ]);
}

describe('a client', () => {
  test('may be connected to maxNamespacesPerClient namespaces', async () => {
    const { io, url } = await run(Server, undefined, { maxNamespacesPerClient: 2 });
    for (const name of ['/a', '/b', '/c']) io.of(name);
    let refuse = true;
    io.of('/b').use((_socket, next) => next(refuse ? new Error('no') : undefined));
    const one = managed(url);
    expect(await enter(one, '/')).toBe('connected');
    // One that does not let it in does not count.
    expect(await enter(one, '/b')).toBe('');
    expect(await enter(one, '/a')).toBe('connected');
    refuse = false;
    expect(await enter(one, '/c')).toBe('TOO_MANY_NAMESPACES');
    one.socket('/').disconnect();
    expect(await enter(one, '/c')).toBe('connected');
  });

  test('that has not been let in yet counts', async () => {
    const { io, url } = await run(Server, undefined, { maxNamespacesPerClient: 2 });
    let waiting = 0;
    for (const name of ['/a', '/b', '/c']) io.of(name).use(() => waiting++);
    const raw = openWebSocket(`${url}/socket.io/?EIO=4`);
    await raw.next();
    for (const name of ['/a', '/b', '/c']) raw.send(`40${name},`);
    expect(await raw.next()).toContain('44/c,');
    expect(waiting).toBe(2);
  });

  test('whose socket joins more than maxRoomsPerSocket rooms is closed', async () => {
    const { io, url } = await run(Server, undefined, { maxRoomsPerSocket: 3 });
    const ended = new Promise<[string, number]>((resolve) => {
      io.on('connection', (socket) => {
        socket.join(['a', 'b']);
        socket.on('join', (room) => socket.join(room));
        socket.on('disconnecting', (reason) => resolve([reason, socket.rooms.size]));
      });
    });
    const one = client(url, { transports: ['websocket'] });
    await nextEvent(one, 'connect');
    one.emit('join', 'c');
    expect(await ended).toEqual(['too many rooms', 3]);
  });

  test.each<[string, object, unknown[][], number]>([
    ['its own room and too many others', { maxRoomsPerSocket: 3 }, [['a', 'b', 'c']], 1],
    ['rooms with long names', { maxRoomBytesPerSocket: 1000 }, [['x'.repeat(900)], ['y'.repeat(101)]], 2],
    ['objects', { maxRoomBytesPerSocket: 150_000 }, [[{}, {}], [{}]], 3],
  ])('whose socket joins %s is closed', async (_what, options, lists, size) => {
    const { io, url } = await run(Server, undefined, options);
    const ended = new Promise<[string, number]>((resolve) => {
      io.on('connection', (socket) => {
        socket.on('join', (rooms) => socket.join(size === 1 ? [socket.id, ...rooms] : rooms));
        socket.on('disconnecting', (reason) => resolve([reason, socket.rooms.size]));
      });
    });
    const one = client(url, { transports: ['websocket'] });
    await nextEvent(one, 'connect');
    for (const rooms of lists) one.emit('join', rooms);
    expect(await ended).toEqual(['too many rooms', size]);
  });

  test('may join what it is in again, and other rooms after it has left some', async () => {
    const { io, url } = await run(Server, undefined, { maxRoomsPerSocket: 3, maxRoomBytesPerSocket: 1000 });
    const [long, other] = ['x'.repeat(600), 'y'.repeat(600)];
    io.on('connection', (socket) => {
      socket.on('act', (done) => {
        for (const rooms of [[long, 'b'], [long], [long, 'b']]) socket.join(rooms);
        socket.leave(other);
        socket.leave(long);
        socket.join(other);
        done(socket.rooms.size);
      });
    });
    const one = client(url, { transports: ['websocket'] });
    await nextEvent(one, 'connect');
    expect(await one.emitWithAck('act')).toBe(3);
  });

  test.each([
    ['a long text', JSON.stringify({ token: 'x'.repeat(70_000) })],
    ['many values', `{"token":[${'[],'.repeat(3000)}[]]}`],
  ])('that sends %s in auth is closed', async (_what, auth) => {
    const { io, url } = await run(Server);
    const reason = new Promise((resolve) => {
      io.engine.on('limit', (_session: unknown, why: string) => resolve(why));
    });
    const raw = openWebSocket(`${url}/socket.io/?EIO=4`);
    await raw.next();
    raw.send(`40${auth}`);
    expect(await reason).toBe('packet too large');
  });

  test('may send what applications use in auth', async () => {
    const { url } = await run(Server);
    const one = client(url, { auth: { token: 'x'.repeat(50_000), list: Array(50).fill({ a: [1, 2] }) } });
    await nextEvent(one, 'connect');
  });
});

test('a call that names more than maxRoomsPerCall rooms reaches nobody, and is reported once', async () => {
  const { io, url } = await run(Server, undefined, { maxRoomsPerCall: 3 });
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  io.on('connection', (socket) => socket.join('a'));
  const one = client(url, { transports: ['websocket'] });
  await nextEvent(one, 'connect');
  const heard: unknown[] = [];
  one.onAny((...event) => heard.push(event));
  const tooMany = io.to(['a', 'b']).except(['c', 'd']);
  tooMany.emit('no', 1);
  tooMany.emit('no', 2);
  expect(await tooMany.timeout(1000).emitWithAck('no', 3)).toEqual([]);
  expect(await tooMany.fetchSockets()).toEqual([]);
  tooMany.socketsJoin('e');
  tooMany.disconnectSockets();
  io.in('a').socketsLeave(['a', 'b', 'c']);
  io.to(['a', 'e']).except('d').emit('yes');
  await nextEvent(one, 'yes');
  expect(heard).toEqual([['yes']]);
  expect(io.sockets.adapter.rooms.has('e')).toBe(false);
  expect(warn.mock.calls).toEqual([[expect.any(String), expect.objectContaining({ code: 'TOO_MANY_ROOMS_IN_CALL' })]]);
  warn.mockRestore();
});

test('dynamic namespaces without clients make way for new ones, up to maxNamespaces', async () => {
  const { io, url } = await run(Server, undefined, { maxNamespaces: 2 });
  io.of(/^\/room-\d+$/);
  const [one, other] = [managed(url), managed(url)];
  for (const name of ['/room-1', '/room-2']) expect(await enter(one, name)).toBe('connected');
  expect(await enter(other, '/room-3')).toBe('TOO_MANY_NAMESPACES');
  expect(await enter(other, '/room-1')).toBe('connected');
  const gone = nextEvent(other.socket('/room-1'), 'disconnect');
  one.socket('/room-2').disconnect();
  other.socket('/room-1').disconnect();
  await gone;
  expect(await enter(other, '/room-4')).toBe('connected');
  expect([...(io as unknown as { _nsps: Map<string, unknown> })._nsps.keys()].sort()).toEqual([
    '/',
    '/room-1',
    '/room-4',
  ]);
});
