import { once } from 'node:events';
import { Connection } from '../../../harness/connection.js';

/** How long an answer may take while an attack is prepared, in ms. */
const PATIENCE_MS = 10_000;

/** A TCP connection that sends any bytes, from any address of the loopback network, and reads only if it wants to. */
export class RawConnection extends Connection {
  /**
   * Writes, and waits until there is room for more.
   * @returns {Promise<boolean>} false once the connection is closed, or when there is no room for `patience` ms
   */
  async write(bytes, patience = PATIENCE_MS) {
    if (this.isClosed) return false;
    if (this.socket.write(bytes)) return true;
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(patience)));
    await Promise.race([once(this.socket, 'drain', { signal }), once(this.socket, 'close', { signal })]).catch(
      () => {},
    );
    return !this.isClosed && !signal.aborted;
  }

  read(take, patience = PATIENCE_MS) {
    return super.read(take, patience);
  }

  /** Reads on, and throws away what comes. */
  discard() {
    this.isDiscarding = true;
    return this;
  }

  /** Reads no more, so that the answers wait at the server. */
  stopReading() {
    this.socket.pause();
    return this;
  }

  close() {
    this.end();
  }
}
