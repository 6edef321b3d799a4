import { type HeldBytes, Holder } from './held-bytes.js';

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
