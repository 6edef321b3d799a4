import { afterAll } from '@jest/globals';
import type { Namespace, Socket } from 'socket.io';
import { type Socket as Client, io, type ManagerOptions, type SocketOptions } from 'socket.io-client';
import { nextEvent } from '../../../support/clients.js';
import type { TestNode } from './node.js';

const open = new Set<Client>();

/** A client and the server's end of it. */
export interface Pair {
  readonly client: Client;
  readonly socket: Socket;
  /** Everything that the client has received, as `[event, ...values]`. */
  readonly received: unknown[][];
}

/** Connects a real client. */
export async function pairOn(
  node: Pick<TestNode, 'io' | 'url'> & Partial<Pick<TestNode, 'engine'>>,
  { namespace = '/', ...options }: Partial<ManagerOptions & SocketOptions> & { namespace?: string } = {},
): Promise<Pair> {
  const client = io(node.url + namespace, {
    forceNew: true,
    transports: ['websocket'],
    reconnection: false,
    ...options,
  });
  open.add(client);
  const received: unknown[][] = [];
  client.onAny((...values) => received.push(values));
  await new Promise<void>((resolve, reject) => {
    client.once('connect', resolve);
    client.once('connect_error', reject);
  });
  return { client, socket: node.io.of(namespace).sockets.get(client.id!)!, received };
}

export function disconnectAll(): void {
  for (const client of open) client.disconnect();
  open.clear();
}

// As in support/clients.ts.
afterAll(disconnectAll);

let fences = 0;

/**
 * What the clients have received, without fences, once they have received everything that was sent before: each sender
 * sends a fence to the rooms that were spoken to, whose members wait for it, and then one to everyone.
 */
export async function receivedBy(
  pairs: readonly Pair[],
  senders: readonly Pick<TestNode, 'io'>[],
  rooms: readonly string[] = [],
): Promise<unknown[][][]> {
  for (const room of rooms) {
    const members = pairs.filter(({ socket }) => socket.rooms.has(room));
    await fence(members, senders, (server) => server.to(room));
  }
  await fence(pairs, senders, (server) => server);
  return pairs.map(({ received }) => received.filter(([event]) => !String(event).startsWith('fence ')));
}

async function fence(
  pairs: readonly Pair[],
  senders: readonly Pick<TestNode, 'io'>[],
  target: (server: Namespace) => { emit(event: string): unknown },
): Promise<void> {
  const names = senders.map(() => `fence ${fences++}`);
  const arrived = pairs.flatMap(({ client }) => names.map((name) => nextEvent(client, name)));
  const namespaces = new Set(pairs.map(({ socket }) => socket.nsp.name));
  for (const [index, { io: server }] of senders.entries()) {
    for (const namespace of namespaces) target(server.of(namespace)).emit(names[index]!);
  }
  await Promise.all(arrived);
}
