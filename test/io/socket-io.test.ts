import { expect, test } from '@jest/globals';
import { RedisAdapter } from '@socket.io/redis-adapter';
import { Server, Socket } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import { isWithin } from '../../src/base/optional-packages.js';
import { defaultParser } from '../../src/cluster/backplanes/redis/redis-adapter.private.js';
import {
  ANY_OUTGOING_LISTENERS,
  decoderOf,
  emitServerSide,
  giveIds,
  nspOf,
  remoteSocketsOf,
  wantsRecovery,
} from '../../src/io/socket-io.private.js';
import { CHECKED_VERSIONS, installedCopy } from '../../src/io/socket-io-version.js';

/** Fails with what to do, instead of with a property that is undefined. */
function has(what: string, isThere: boolean): void {
  if (isThere) return;
  throw new Error(
    `socket.io ${installedCopy()!.version} has no ${what} any more: adapt src/io/socket-io.private.ts, and narrow the peer dependency`,
  );
}

test('the installed version is one that was checked', () => {
  expect(isWithin(installedCopy()!.version, CHECKED_VERSIONS)).toBe(true);
});

test('an adapter broadcasts in the two steps that rooms as topics replace', () => {
  const io = new Server();
  const adapter = new Adapter(io.of('/'));
  const calls: string[] = [];
  const steps = adapter as unknown as Record<string, (...values: unknown[]) => unknown>;
  has('Adapter._encode', typeof steps._encode === 'function');
  has('Adapter.apply', typeof steps.apply === 'function');
  steps._encode = () => calls.push('_encode');
  steps.apply = () => calls.push('apply');
  adapter.broadcast({ type: 2, data: ['event'] }, { rooms: new Set(), except: new Set(), flags: {} });
  expect(calls).toEqual(['_encode', 'apply']);
});

test('what else is private is where it was', () => {
  const io = new Server({ connectionStateRecovery: {} });
  has('the decoder of @socket.io/redis-adapter', typeof defaultParser().decode === 'function');
  has('Server.opts.connectionStateRecovery', wantsRecovery(io.of('/')));
  has('Server._parser.Decoder', typeof decoderOf(io) === 'function');
  has('hasRoom() of @socket.io/redis-adapter', 'hasRoom' in RedisAdapter.prototype);
  has('Socket.notifyOutgoingListeners', 'notifyOutgoingListeners' in Socket.prototype);
  has('Adapter.nsp', nspOf(new Adapter(io.of('/'))) === io.of('/'));
});

test('onAnyOutgoing() keeps its listeners in the field that is watched', () => {
  const socket = {} as Socket;
  Socket.prototype.onAnyOutgoing.call(socket, () => {});
  has(`Socket.${ANY_OUTGOING_LISTENERS}`, Array.isArray((socket as never)[ANY_OUTGOING_LISTENERS]));
});

test('sockets of other workers are described by the class that fetchSockets() uses', async () => {
  const nsp = new Server().of('/');
  const details = { id: 'one', handshake: {}, rooms: ['one', 'two'], data: 1 };
  const [socket] = await remoteSocketsOf(nsp, [details]);
  has('RemoteSocket', socket?.constructor.name === 'RemoteSocket');
  expect(socket).toMatchObject({ ...details, rooms: new Set(details.rooms) });
});

test('an event between servers is emitted with its answer', () => {
  const io = new Server();
  const heard: unknown[] = [];
  io.on('sum', (a: number, reply: (sum: number) => void) => reply(a + 1));
  has('Namespace._onServerSideEmit', '_onServerSideEmit' in io.of('/'));
  emitServerSide(io.of('/'), ['sum', 1, (sum: number) => heard.push(sum)]);
  expect(heard).toEqual([2]);
});

test('a namespace makes sockets in a step of its own, in which they get another id', async () => {
  const nsp = new Server().of('/ids');
  has('Namespace._createSocket', '_createSocket' in nsp);
  let count = 0;
  giveIds(nsp, () => `id ${++count}`);
  const created = (protocol: number) => {
    const client = { id: 'session', conn: { protocol, remoteAddress: '' }, request: undefined };
    return (nsp as unknown as { _createSocket(...args: unknown[]): Promise<Socket> })._createSocket(client, {});
  };
  expect([(await created(4)).id, (await created(4)).id]).toEqual(['id 1', 'id 2']);
  // A client of revision 3 works it out by itself.
  expect((await created(3)).id).toBe('/ids#session');
});
