import { setTimeout as after } from 'node:timers/promises';
import type { Answer, Page } from './messages.js';
import type { Peer } from './peer.js';
import type { Pulls } from './pulls.js';
import type { Replicas } from './replica.js';

/** Messages that overtake others are waited for before the missing ones are asked for, in ms. */
const OVERTAKEN_MS = 50;
/** After this time, a worker that did not send what is missing is asked again, in ms. */
const RETRY_MS = 100;

/** What closing gaps needs of the hub. */
export interface GapsHost {
  readonly rooms: Replicas;
  readonly peers: ReadonlyMap<string, Peer>;
  readonly pulls: Pulls;
  readonly isClosed: boolean;
}

/** Asks a worker for messages that are missing: for what it has changed since the last one that is here. */
export async function closeGap(host: GapsHost, node: string, peer: Peer): Promise<void> {
  if (peer.isPulling) return;
  peer.isPulling = true;
  try {
    await after(OVERTAKEN_MS);
    while (peer.hasGap && !host.isClosed && host.peers.get(node) === peer) {
      let first: (Answer & Page) | undefined;
      let isWhole = true;
      const { claimed } = peer;
      for (const room of host.rooms.values()) {
        const page = await host.pulls.pull(node, room, peer.clock);
        first ??= page;
        isWhole &&= page !== undefined;
      }
      if (first && isWhole) peer.answered(first.sequence, first.clock, claimed);
      if (peer.hasGap) await after(RETRY_MS);
    }
  } finally {
    peer.isPulling = false;
  }
}
