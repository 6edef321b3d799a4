import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { unsentBytes } from './node-net.private.js';

/** A client that sends less of a body than this in this time is disconnected. */
const MIN_BODY_BYTES = 10_000;
const BODY_MS = 10_000;
/** uWebSockets.js disconnects a client that has read nothing of a response for so long, in ms. */
const PATIENCE_MS = 10_000;

interface Watched {
  readonly socket: Socket;
  /** Whether nothing is expected of the client now. */
  isOver(): boolean;
  /** Bytes that it has sent or read. */
  bytes(): number;
  /** In one period. */
  readonly leastBytes: number;
  readonly periodMs: number;
  seen: number;
  since: number;
}

/** Disconnects clients that send a body, or read a response, too slowly. */
export class Progress {
  private readonly watched = new Set<Watched>();

  /** @returns call it when the body is no longer wanted */
  watchBody(message: IncomingMessage): () => void {
    const { socket } = message;
    const bytes = () => socket.bytesRead;
    const isOver = () => message.complete || !message.readableFlowing;
    const watched = this.watch({ socket, isOver, bytes, leastBytes: MIN_BODY_BYTES, periodMs: BODY_MS });
    return () => this.watched.delete(watched);
  }

  watchReader(response: ServerResponse, socket: Socket): void {
    const bytes = () => socket.bytesWritten - unsentBytes(socket);
    const isOver = () => response.writableLength === 0;
    const watched = this.watch({ socket, isOver, bytes, leastBytes: 1, periodMs: PATIENCE_MS });
    response.once('close', () => this.watched.delete(watched));
  }

  private watch(what: Omit<Watched, 'seen' | 'since'>): Watched {
    // The first sweep counts. Most are over before, and what they have sent or read is expensive to ask for.
    const watched = { ...what, seen: 0, since: 0 };
    this.watched.add(watched);
    return watched;
  }

  /** @param now in ms */
  sweep(now: number): void {
    for (const one of this.watched) {
      const bytes = one.bytes();
      if (one.since === 0 || one.isOver() || bytes - one.seen >= one.leastBytes) {
        one.seen = bytes;
        one.since = now;
      } else if (now - one.since >= one.periodMs) {
        this.watched.delete(one);
        one.socket.destroy();
      }
    }
  }
}
