import { type IncomingBytes, IncomingHolder } from './incoming-bytes.js';

/** Counts what has arrived on a connection and was not read by the application. */
export class UnreadBytes extends IncomingHolder {
  /** @param onOverflow called when all clients together send more than the process can hold */
  constructor(
    all: IncomingBytes,
    readonly onOverflow: () => void,
  ) {
    super(all);
  }

  /** Call it whenever the number of unread bytes has changed. */
  set(bytes: number): void {
    const more = bytes - this.bufferedAmount;
    if (more > 0) this.hold(more);
    else if (more < 0) this.letGo(-more);
  }
}
