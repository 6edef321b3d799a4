import { MAX_SKEW_MS } from '../kept/packet-log.js';
import type { StreamState } from '../kept/stream-state.js';
import type { Owner } from './owner.js';

/**
 * Adds what another worker knows of each sender to the log of one that has just started. The parts of a sender come one
 * after the other, the newest first.
 *
 * What may be on its way to this worker, too, is also delivered: its clients, which may have connected before it was sent,
 * would miss it if it only counted as known. When it arrives, it is known.
 */
export class Lessons {
  /** The newest packets of a sender. Older ones, which are to be delivered first, follow. */
  private held: StreamState | undefined;
  /** What was sent since then may be on its way. */
  private readonly newSince: number;

  /** @param startedAt since when this worker receives what others send */
  constructor(
    private readonly owner: Pick<Owner, 'log' | 'deliver'>,
    startedAt: number,
    spansMachines: boolean,
  ) {
    this.newSince = spansMachines ? startedAt - MAX_SKEW_MS : startedAt;
  }

  add(part: StreamState): void {
    const { held } = this;
    if (held?.sender === part.sender && held.floor === part.last) {
      this.held = { ...part, last: held.last, lastAt: held.lastAt, packets: [...part.packets, ...held.packets] };
    } else {
      this.settle();
      this.held = part;
    }
    const { sender, floor, packets } = this.held;
    const isPartOfNew = floor > this.owner.log.headOf(sender).last && packets[0] && this.isNew(packets[0].at);
    if (!isPartOfNew) this.settle();
  }

  /** No more parts come of the sender. */
  settle(): void {
    const { held } = this;
    if (!held) return;
    this.held = undefined;
    this.owner.log.learn(held, (at) => this.isNew(at));
    for (const packet of held.packets) this.owner.deliver(held.sender, packet);
  }

  private isNew(at: number): boolean {
    return at >= this.newSince;
  }
}
