import { MalformedMessage } from '../../errors.js';
import type { WorkerLinks } from '../../worker-links.js';
import type { Clock } from '../clock.js';

interface Message {
  /** The sender's count of each key. */
  counts?: [key: string, count: number][];
  /** The amounts consumed at the sender since its last message. */
  consumed?: [key: string, amount: number][];
  /** The sender is new, and asks for all counts. */
  isNew?: boolean;
}

/** How long changes are gathered before they are sent to the other workers, in ms. */
const GATHER_MS = 50;

/**
 * Counts by key that several workers add up. Each worker sends its own counts to the others in batches, and never waits
 * for an answer. Changes on other workers are known here a moment later.
 */
export class SharedCounts {
  private readonly own = new Map<string, number>();
  private readonly all = new Map<string, number>();
  private readonly others = new Map<number, Map<string, number>>();
  private readonly changed = new Set<string>();
  private readonly consumed = new Map<string, number>();
  private links: WorkerLinks | undefined;
  private timer: unknown;

  /** @param onConsumed called with amounts that other workers report by {@link reportConsumed} */
  constructor(
    private readonly clock: Clock,
    private readonly onConsumed: (key: string, amount: number) => void,
  ) {}

  join(links: WorkerLinks): void {
    this.links = links;
    links.onMessage((from, payload) => this.receive(from, decode(payload)));
    links.onLeave((id) => {
      for (const key of this.others.get(id)?.keys() ?? []) this.set(id, key, 0);
      this.others.delete(id);
    });
    links.broadcast(encode({ isNew: true }));
  }

  /** The count on all workers. */
  of(key: string): number {
    return this.all.get(key) ?? 0;
  }

  add(key: string, difference: number): void {
    put(this.own, key, (this.own.get(key) ?? 0) + difference);
    put(this.all, key, this.of(key) + difference);
    if (!this.links) return;
    this.changed.add(key);
    this.reportLater();
  }

  /** Reports one unit consumed here, which the other workers must consume too. */
  reportConsumed(key: string): void {
    if (!this.links) return;
    this.consumed.set(key, (this.consumed.get(key) ?? 0) + 1);
    this.reportLater();
  }

  close(): void {
    if (this.timer !== undefined) this.clock.clearTimeout(this.timer);
  }

  private reportLater(): void {
    this.timer ??= this.clock.setTimeout(() => {
      this.timer = undefined;
      const counts = [...this.changed].map((key) => [key, this.own.get(key) ?? 0] as [string, number]);
      this.links?.broadcast(encode({ counts, consumed: [...this.consumed] }));
      this.changed.clear();
      this.consumed.clear();
    }, GATHER_MS);
  }

  private receive(from: number, { counts = [], consumed = [], isNew }: Message): void {
    // Messages of a worker that is gone do not count.
    if (!this.links?.members.includes(from)) return;
    for (const [key, count] of counts) this.set(from, key, count);
    for (const [key, amount] of consumed) this.onConsumed(key, amount);
    if (isNew) this.links.send(from, encode({ counts: [...this.own] }));
  }

  private set(worker: number, key: string, count: number): void {
    let known = this.others.get(worker);
    if (!known) {
      known = new Map();
      this.others.set(worker, known);
    }
    put(this.all, key, this.of(key) + count - (known.get(key) ?? 0));
    put(known, key, count);
  }
}

/** Zeros are not kept. */
function put(counts: Map<string, number>, key: string, count: number): void {
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** @throws MalformedMessage */
function decode(payload: Buffer): Message {
  try {
    const message = JSON.parse(payload.toString()) as Message;
    const { counts = [], consumed = [] } = message;
    const isPair = ([key, count]: [unknown, unknown]) => typeof key === 'string' && Number.isFinite(count);
    if (counts.every(isPair) && consumed.every(isPair)) return message;
  } catch {
    // Malformed as well.
  }
  throw new MalformedMessage('counts cannot be read');
}

function encode(message: Message): Buffer {
  return Buffer.from(JSON.stringify(message));
}
