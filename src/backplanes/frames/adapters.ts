import type { Namespace } from 'socket.io';
import { Inbox } from '../inbox.js';
import { localFirst } from '../local-first.js';
import { FrameAdapter } from './adapter.js';
import { FrameBus } from './bus.js';
import type { FrameLinks } from './links.js';
import type { SharedWindow } from './window.js';
import { decodeBroadcast } from './wire/broadcast.js';
import { decodeMessage, type Message } from './wire/cluster-message.js';

/** The adapters of all namespaces on a bus of frames. */
export interface FrameAdapters {
  factory: (nsp: Namespace) => FrameAdapter;
  bus: FrameBus;
}

/** Joins the adapters of this worker with those of the workers that the links reach. */
export function frameAdapters(links: FrameLinks, window: SharedWindow, inbox: Inbox = new Inbox()): FrameAdapters {
  const adapters = new Map<string, FrameAdapter>();
  const bus = new FrameBus(links, window, inbox, {
    onBroadcast: (from, body) =>
      inbox.receive(
        () => false,
        () => {
          const broadcast = decodeBroadcast(body);
          adapters.get(broadcast.nsp)?.receiveBroadcast(from, broadcast);
        },
      ),
    onCluster: (_from, body) => {
      let message: Message;
      inbox.receive(
        () => {
          const decoded = decodeMessage(body);
          message = decoded.message;
          return decoded.isForApplication;
        },
        () => adapters.get(message.nsp)?.receiveMessage(message),
      );
    },
    onJoin: (worker) => {
      for (const adapter of adapters.values()) adapter.greet(worker);
    },
    onLeave: (worker) => {
      for (const adapter of adapters.values()) adapter.workerGone(worker);
    },
  });
  return {
    bus,
    factory: (nsp) => {
      const adapter = new FrameAdapter(nsp, bus, () => adapters.delete(nsp.name));
      adapters.set(nsp.name, adapter);
      return localFirst(adapter);
    },
  };
}
