/**
 * Counts the bytes that this process keeps for clients itself. Input waits for the rest of a packet or body, or to be
 * handled. Responses wait for their client to read.
 */
export class HeldBytes {
  /** All of them. */
  total = 0;
  /** What they wait in. */
  readonly holders = new Set<Holder>();
  /** Called whenever there are more. */
  onGrowth: () => void = () => {};
}

/** Keeps bytes of one client, and counts them. If too many bytes wait in all holders, the largest ones are dropped. */
export abstract class Holder {
  bufferedAmount = 0;

  constructor(private readonly all: HeldBytes) {}

  /** Drops the bytes, which ends the client's request or connection. */
  abstract onOverflow(): void;

  /** Counts more bytes. The holder may be dropped before this returns. */
  protected hold(bytes: number): void {
    const { all } = this;
    all.holders.add(this);
    this.bufferedAmount += bytes;
    all.total += bytes;
    all.onGrowth();
  }

  /** Some of the bytes wait no longer; by default, all of them. */
  protected letGo(bytes = this.bufferedAmount): void {
    this.bufferedAmount -= bytes;
    this.all.total -= bytes;
    if (this.bufferedAmount === 0) this.all.holders.delete(this);
  }
}

/** Counts what waits on one connection, where its owner knows the amount: unread input, or output for a slow client. */
export class CountedBytes extends Holder {
  /** @param onOverflow called when too many bytes wait for and from all clients together */
  constructor(
    all: HeldBytes,
    readonly onOverflow: () => void,
  ) {
    super(all);
  }

  /** Call it whenever the number of waiting bytes has changed. */
  set(bytes: number): void {
    const more = bytes - this.bufferedAmount;
    if (more > 0) this.hold(more);
    else if (more < 0) this.letGo(-more);
  }
}
