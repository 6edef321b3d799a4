/** What needs confirming of a connection to NATS. */
interface Pinged {
  /** Sends a ping. Resolves with the pong; may never resolve if the connection is lost. */
  flush(): Promise<void>;
}

/** When this number of bytes waits for a ping, one is sent at once. */
const MAX_WAITING_BYTES = 256 * 1024;

interface Batch {
  bytes: number;
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

function newBatch(): Batch {
  let settle: Pick<Batch, 'resolve' | 'reject'>;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // A sender may not wait for it.
  promise.catch(() => {});
  return { bytes: 0, promise, ...settle! };
}

/**
 * Knows what a server has received. NATS confirms no message, but it answers a ping after everything that was sent before
 * it, so one ping confirms many messages.
 */
export class Receipts {
  private batch = newBatch();
  private readonly pinged = new Set<Batch>();

  constructor(private readonly connection: Pinged) {}

  /** Whether a ping waits for its answer. */
  get isWaiting(): boolean {
    return this.pinged.size > 0;
  }

  /**
   * Call this after each message. Resolves when the server has it, and rejects if the connection is lost before it is known
   * to have it.
   */
  receipt(bytes: number): Promise<void> {
    const { batch } = this;
    batch.bytes += bytes;
    if (batch.bytes >= MAX_WAITING_BYTES) this.ping();
    return batch.promise;
  }

  /** Resolves when the server has everything that was sent. */
  ping(): Promise<void> {
    const { batch } = this;
    this.batch = newBatch();
    this.pinged.add(batch);
    this.connection.flush().then(
      () => {
        this.pinged.delete(batch);
        batch.resolve();
      },
      () => {},
    );
    return batch.promise;
  }

  /** The connection is lost. */
  lose(error: Error): void {
    for (const batch of [...this.pinged, this.batch]) batch.reject(error);
    this.pinged.clear();
    this.batch = newBatch();
  }
}
