import type { HybridClock } from '../clock.js';
import type { Channel } from './channel.js';
import type { Progress, WireChange } from './messages.js';
import * as messages from './messages.js';
import type { Replica } from './replica.js';

/** Approximate size of a message between workers. */
export const PAGE_BYTES = 262_144;

/** Sends this worker's own changes to all others, in numbered messages. */
export class Outgoing {
  /** Rooms with changes that the others have not been sent. */
  private readonly changed = new Set<Replica>();
  private sequence = 0;
  /** Up to this time, the others have been sent everything. */
  private sentUpTo = 0;

  constructor(
    private readonly node: string,
    private readonly clock: HybridClock,
    private readonly channel: Channel,
  ) {}

  /** A room has a change of this worker. */
  note(room: Replica): void {
    if (room.isReady) this.changed.add(room);
  }

  remove(room: Replica): void {
    this.changed.delete(room);
  }

  /** Sends what has changed. */
  flush(): void {
    for (const room of this.changed) {
      this.changed.delete(room);
      const { entries, sent } = room;
      room.sent = entries.seq;
      let changes: WireChange[] = [];
      let bytes = 0;
      for (const entry of entries.after(sent)) {
        if (entry.origin !== this.node) continue;
        changes.push(messages.toWire(entry, this.node));
        bytes += entry.bytes;
        if (bytes < PAGE_BYTES) continue;
        this.send(room, changes);
        changes = [];
        bytes = 0;
      }
      if (changes.length > 0) this.send(room, changes);
    }
    this.sentUpTo = this.clock.tick();
  }

  /** Sends changes of a room, and its epoch with them. */
  send({ name, epoch }: Replica, changes: WireChange[]): void {
    this.sequence++;
    // Later changes may be older than this moment, so it says nothing of the time.
    this.channel.send({ type: 'changes', ...this.progress, room: name, epoch, changes });
  }

  /** How far this worker is, once it has sent everything. */
  flushed(): Progress {
    this.flush();
    return this.progress;
  }

  private get progress(): Progress {
    return { node: this.node, sequence: this.sequence, clock: this.sentUpTo };
  }
}
