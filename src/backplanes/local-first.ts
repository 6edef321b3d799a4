import type { BroadcastOptions, ClusterAdapter, Room } from 'socket.io-adapter';
import { MessageType } from 'socket.io-adapter';
import { publisherOf } from '../compat/socket-io.js';

type Options = BroadcastOptions;

/**
 * Lets an adapter act on its own sockets before the call returns. The stock adapter waits for the backplane first. The
 * application's next action could then overtake the broadcast, and local delivery would stop while the backplane is
 * down.
 */
export function localFirst<T extends ClusterAdapter>(adapter: T): T {
  const publisher = publisherOf(adapter);
  const { broadcast, addSockets, delSockets, disconnectSockets } = adapter;

  adapter.broadcast = (packet: unknown, options: Options) => {
    if (!isLocal(options)) publisher.publish({ type: MessageType.BROADCAST, data: { packet, opts: plain(options) } });
    return broadcast.call(adapter, packet, local(options));
  };
  adapter.addSockets = (options: Options, rooms: Room[]) => {
    if (!isLocal(options)) publisher.publish({ type: MessageType.SOCKETS_JOIN, data: { opts: plain(options), rooms } });
    return addSockets.call(adapter, local(options), rooms);
  };
  adapter.delSockets = (options: Options, rooms: Room[]) => {
    if (!isLocal(options)) {
      publisher.publish({ type: MessageType.SOCKETS_LEAVE, data: { opts: plain(options), rooms } });
    }
    return delSockets.call(adapter, local(options), rooms);
  };
  adapter.disconnectSockets = (options: Options, close: boolean) => {
    if (!isLocal(options)) {
      publisher.publish({ type: MessageType.DISCONNECT_SOCKETS, data: { opts: plain(options), close } });
    }
    return disconnectSockets.call(adapter, local(options), close);
  };
  return adapter;
}

function isLocal(options: Options): boolean {
  return options.flags?.local === true;
}

function local(options: Options): Options {
  return { ...options, flags: { ...options.flags, local: true } };
}

/** Options as workers exchange them. */
export function plain({ rooms, except, flags }: Options) {
  return { rooms: [...rooms] as string[], except: [...(except ?? [])] as string[], flags: flags ?? {} };
}
