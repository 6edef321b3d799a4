import { HUB, type MeshLinks, type MeshListener } from '../../../src/cluster/mesh/mesh.js';
import { Envelope } from '../../../src/cluster/wire/envelope.js';
import type { SharedWindow } from '../../../src/engine/delivery/shared-window.js';

/** One end of a mesh of two in one process. */
class End implements MeshLinks {
  private other: End | undefined;
  private readonly listeners: MeshListener[] = [];
  private waiting: Buffer[] = [];

  constructor(readonly id: number) {}

  static pair(one: End, other: End): void {
    one.other = other;
    other.other = one;
  }

  get members(): number[] {
    return [1].filter((id) => this.has(id));
  }

  /** The other end is there once somebody listens to it. */
  has(id: number): boolean {
    const { other } = this;
    return other?.id === id && other.listeners.length > 0;
  }

  on(listener: MeshListener): void {
    this.listeners.push(listener);
    for (const { onJoin } of this.other?.listeners ?? []) onJoin?.(this.id);
  }

  send(to: number, envelope: Envelope | Buffer): boolean {
    if (!this.has(to)) return false;
    // Not in the middle of what is being done.
    if (this.waiting.length === 0) process.nextTick(() => this.flush());
    this.waiting.push(Buffer.from(envelope instanceof Envelope ? envelope.whole : envelope));
    return true;
  }

  flush(): void {
    const sent = this.waiting;
    this.waiting = [];
    for (const bytes of sent) {
      const envelope = new Envelope(bytes);
      while (envelope.next()) for (const { onMessage } of this.other?.listeners ?? []) onMessage?.(this.id, envelope);
    }
  }

  close(): void {
    const { other } = this;
    this.other = undefined;
    if (other) other.other = undefined;
    for (const { onLeave } of other?.listeners ?? []) onLeave?.(this.id);
  }
}

/** The mesh of a worker, the first of its machine, and of its hub in the same process. */
export function meshInProcess(): { worker: MeshLinks; hub: MeshLinks } {
  const [worker, hub] = [new End(1), new End(HUB)];
  End.pair(worker, hub);
  return { worker, hub };
}

/** A window that ends with the turn: all that is held in one turn leaves at its end. */
export function turnWindow(): SharedWindow {
  return {
    share: (flush) => {
      let isPlanned = false;
      return () => {
        if (isPlanned) return;
        isPlanned = true;
        setImmediate(() => {
          isPlanned = false;
          flush();
        });
      };
    },
  };
}
