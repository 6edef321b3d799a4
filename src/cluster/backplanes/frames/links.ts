import type { RoomKey } from './interest/rooms.js';

/** Collects the messages of one window for another worker, or for all behind the hub, and sends them as one frame. */
export abstract class Route {
  /** @param keys the rooms that it is for; undefined if it is for all behind the route */
  abstract add(message: Buffer, keys?: readonly RoomKey[]): void;

  /** Sends what was added, and a last message. Never waits; what cannot be sent is dropped and counted. */
  send(message?: Buffer): void {
    if (message) this.add(message);
    this.write();
  }

  protected abstract write(): void;
}

/**
 * The way to other workers, here or on other machines. An implementation
 *
 * - must deliver the messages of one worker to another in order and at most once each;
 * - must call `onJoin` when the hub is here, also again. A worker that sends a message need not be reported;
 * - must report a worker that is gone once.
 */
export interface FrameLinks {
  /** This worker's id, unique among all workers that can reach each other. */
  readonly id: string;
  /** The name of the peer that stands for all workers of other machines, which are no peers of their own. */
  readonly hub?: string;
  /** The other workers at the start. */
  workers(): Iterable<string>;
  routeTo(worker: string): Route;
  /** Whether a worker is on another machine. */
  isElsewhere(worker: string): boolean;
  listen(listener: FrameListener): void;
  /** Whether workers of other machines can be reached, as far as there may be some. */
  readonly isUp: boolean;
  /** Call this with messages that no worker of another machine is known for. They are counted if there may be some. */
  lose(messages: number): void;
}

export interface FrameListener {
  onMessage(from: string, type: number, body: Buffer): void;
  onMalformed(error: unknown): void;
  onJoin(worker: string): void;
  onLeave(worker: string): void;
  /** A worker behind the hub is there. */
  onHere?(worker: string): void;
  onAway?(worker: string): void;
}
