import { EventEmitter, once } from 'node:events';
import type { Redis } from 'ioredis';

type ReadReply = [stream: string, entries: [id: string, fields: string[]][]][] | null;

/** The start of a stream; also the last position of an empty one. */
const BEGINNING = '0-0';

/**
 * Reads the stream for `@socket.io/redis-streams-adapter`, and corrects two of its habits.
 *
 * - When a read fails, the adapter retries at once. Reads that fail immediately would occupy the process, so a read
 *   here waits until Redis is reachable.
 * - The adapter repeats `$`, the end of the stream, until a read returns something. Messages between two such reads
 *   would be lost, so `$` here is the end of the stream at the start.
 */
export class StreamReader extends EventEmitter {
  /** Resolves when the position to read from is known. No message is missed from then on. */
  readonly started: Promise<void>;
  private position = BEGINNING;
  private isClosed = false;

  constructor(
    private readonly redis: Redis,
    private readonly stream: string,
  ) {
    super();
    this.started = this.start();
  }

  async xread(...args: [...options: (string | number)[], from: string]): Promise<ReadReply> {
    await this.started;
    const options = args.slice(0, -1);
    // Its declaration has an overload for each combination of options, but none for a list.
    const read = this.redis.xread.bind(this.redis) as unknown as (...args: (string | number)[]) => Promise<ReadReply>;
    const from = args.at(-1) === '$' ? this.position : (args.at(-1) as string);
    for (;;) {
      await this.whenReady();
      try {
        return await read(...options, from);
      } catch {
        // The next connection continues from the same position.
        if (this.redis.status === 'ready') await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** The adapter calls this when its last namespace is closed. */
  disconnect(): void {
    this.close();
  }

  close(): void {
    this.isClosed = true;
    this.redis.disconnect();
  }

  private async start(): Promise<void> {
    for (;;) {
      await this.whenReady();
      try {
        const [last] = await this.redis.xrevrange(this.stream, '+', '-', 'COUNT', 1);
        this.position = last?.[0] ?? BEGINNING;
        return;
      } catch {
        if (this.redis.status === 'ready') await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** Never resolves after the reader is closed, which ends the adapter's loop. */
  private async whenReady(): Promise<void> {
    if (this.isClosed) await new Promise(() => {});
    while (this.redis.status !== 'ready') await once(this.redis, 'ready');
  }
}
