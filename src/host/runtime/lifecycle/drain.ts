import { setTimeout as sleep } from 'node:timers/promises';

/** Clients of one kind that a drain disconnects. */
export interface DrainGroup<T extends object> {
  /** The number of connected clients. */
  readonly size: number;
  /** The connected clients. */
  members(): Iterable<T>;
  /** Whether dismissing the client now interrupts nothing. */
  isQuiet(member: T): boolean;
  /** Asks the client to reconnect elsewhere. It may stay a member until it has received that. */
  dismiss(member: T): void;
  /** Whether the client must be dismissed at once because this worker cannot serve it any more. */
  isUrgent?(member: T): boolean;
}

/** Clients that end by themselves. A drain only waits for them. */
export const waitedFor = (count: () => number): DrainGroup<object> => ({
  get size() {
    return count();
  },
  members: () => [],
  isQuiet: () => true,
  dismiss: () => {},
});

export interface DrainOptions {
  groups: readonly DrainGroup<object>[];
  /** How long the drain may take, in ms. With 0 no client is dismissed. */
  over: number;
  /** Whether nothing else is in progress. */
  isIdle: () => boolean;
  /** Ends the drain early. */
  signal: AbortSignal;
  /** The clock, for tests. */
  time?: { now(): number; pass(ms: number, signal: AbortSignal): Promise<void> };
}

const realTime: NonNullable<DrainOptions['time']> = {
  now: () => performance.now(),
  pass: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
};

/** The average time between two batches, in ms. */
const TURN_MS = 50;
/** After this share of the time all clients are dismissed. Clients on polling need the rest to receive it. */
export const LAST_CALL = 0.8;

/**
 * Disconnects all clients, in random batches that are spread evenly over the given time, however few they are: what they
 * connect to next has that much time to notice, too. The first one leaves at once. Resolves when no client is left, or
 * when the time is up.
 */
export async function drain({ groups, over, isIdle, signal, time = realTime }: DrainOptions): Promise<void> {
  if (over <= 0) return;
  const start = time.now();
  const lastCall = over * LAST_CALL;
  const queue = new Queue(groups);
  /** How many clients are due. */
  let due = 1;
  let before = 0;

  while (!signal.aborted) {
    const elapsed = time.now() - start;
    if (elapsed >= lastCall) queue.dismissAll();
    else {
      due += (queue.length * (elapsed - before)) / (lastCall - before);
      queue.dismissSome(Math.floor(due));
      due %= 1;
    }
    before = elapsed;
    const isOver = elapsed >= over || (isIdle() && groups.every(({ size }) => size === 0));
    if (isOver) return;
    queue.refill();
    await time.pass(TURN_MS * (0.5 + Math.random()), signal);
  }
}

/** The clients that are still to be dismissed. */
class Queue {
  private waiting: Client[] = [];
  /** Clients that were busy when their turn came. The others do not wait for them. */
  private busy: Client[] = [];
  /** All clients that have been in one of the two. */
  private readonly known = new WeakSet<object>();

  constructor(private readonly groups: readonly DrainGroup<object>[]) {
    this.refill();
  }

  get length(): number {
    return this.waiting.length + this.busy.length;
  }

  /** Adds the clients that have arrived, over connections that were made before. */
  refill(): void {
    if (this.waiting.length > 0) return;
    // Thousands may be known already, and this is looked at many times a second.
    for (const group of this.groups) {
      for (const member of group.members()) {
        if (this.known.has(member)) continue;
        this.known.add(member);
        this.waiting.push({ group, member });
      }
    }
    shuffle(this.waiting);
  }

  /** Dismisses a number of quiet clients, and all urgent ones that are quiet. */
  dismissSome(count: number): void {
    for (const client of this.takeUrgent()) this.dismissIfQuiet(client);
    let left = count;
    for (const client of this.busy.splice(0, count)) if (this.dismissIfQuiet(client)) left--;
    while (left > 0 && this.waiting.length > 0) if (this.dismissIfQuiet(this.waiting.pop()!)) left--;
  }

  dismissAll(): void {
    for (const { group, member } of [...this.busy.splice(0), ...this.waiting.splice(0)]) group.dismiss(member);
  }

  private takeUrgent(): Client[] {
    const isUrgent = ({ group, member }: Client) => group.isUrgent?.(member) ?? false;
    if (!this.busy.some(isUrgent) && !this.waiting.some(isUrgent)) return [];
    const urgent = [...this.busy, ...this.waiting].filter(isUrgent);
    this.busy = this.busy.filter((client) => !isUrgent(client));
    this.waiting = this.waiting.filter((client) => !isUrgent(client));
    return urgent;
  }

  private dismissIfQuiet(client: Client): boolean {
    const { group, member } = client;
    const isQuiet = group.isQuiet(member);
    if (isQuiet) group.dismiss(member);
    else this.busy.push(client);
    return isQuiet;
  }
}

interface Client {
  group: DrainGroup<object>;
  member: object;
}

function shuffle(values: unknown[]): void {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [values[i], values[j]] = [values[j], values[i]];
  }
}
