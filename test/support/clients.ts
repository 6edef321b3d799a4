import { afterAll } from '@jest/globals';
import { io, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';
import type { ClientEvents, Reply, ServerEvents } from '../../src/service/chat/protocol.js';

export type ChatClient = Socket<ServerEvents, ClientEvents>;

const open = new Set<Socket>();

/** A real client with its default options, and a connection of its own. */
export function connect(url: string, options: Partial<ManagerOptions & SocketOptions> = {}): ChatClient {
  const socket: ChatClient = io(url, { forceNew: true, ...options });
  open.add(socket);
  return socket;
}

/** Resolves with the arguments of the next such event. */
export function nextEvent<T extends unknown[]>(
  emitter: { once(event: string, listener: (...values: never[]) => void): unknown },
  event: string,
): Promise<T> {
  return new Promise((resolve) => emitter.once(event, (...values: unknown[]) => resolve(values as T)));
}

/** Resolves when the client is connected; fails with the server's reason. */
export function connected(socket: ChatClient): Promise<void> {
  if (socket.connected) return Promise.resolve();
  return new Promise((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('connect_error', reject);
  });
}

/** Resolves when the client has moved to a WebSocket. */
export async function upgraded(socket: ChatClient): Promise<void> {
  await connected(socket);
  const { engine } = socket.io;
  if (engine.transport.name !== 'websocket') await nextEvent(engine, 'upgrade');
}

/** Disconnects a client, and resolves once its connection has ended: one on polling still has something to say. */
export async function leave(socket: Socket): Promise<void> {
  const { engine } = socket.io;
  const closed = engine.readyState === 'closed' ? undefined : nextEvent(engine, 'close');
  socket.disconnect();
  await closed;
}

/** Disconnects every client of the test. */
export function disconnectAll(): void {
  for (const socket of open) socket.disconnect();
  open.clear();
}

// A client that outlives its file would go on after jest has taken its environment down, and fail a run that passed.
afterAll(disconnectAll);

/** The reply without its outcome, or the failure as an error. */
export function expectOk<T>(reply: Reply<T>): { ok: true } & T {
  if (!reply.ok) throw new Error(`${reply.code}: ${reply.message}`);
  return reply;
}

/** The worker that has the client's session, as it tells who joins a room. */
export async function workerOf(socket: ChatClient): Promise<number> {
  return expectOk(await socket.emitWithAck('join', 'which worker')).worker;
}

/** The workers of clients, in their order. */
export function workersOf(sockets: readonly ChatClient[]): Promise<number[]> {
  return Promise.all(sockets.map(workerOf));
}
