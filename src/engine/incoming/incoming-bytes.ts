/** Counts the bytes that came in from clients and wait: for the rest of a packet or body, or to be handled. */
export class IncomingBytes {
  /** All of them. */
  total = 0;
  /** What they wait in. */
  readonly holders = new Set<IncomingHolder>();
  /** Called whenever there are more. */
  onGrowth: () => void = () => {};
}

/** Keeps bytes of one client, and counts them. If too many bytes wait in all holders, the largest ones are dropped. */
export abstract class IncomingHolder {
  bufferedAmount = 0;

  constructor(private readonly all: IncomingBytes) {}

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
