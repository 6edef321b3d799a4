import { EventEmitter, once } from 'node:events';
import type { Redis } from 'ioredis';

type ReadReply = [stream: string, entries: [id: string, fields: string[]][]][] | null;

/** The beginning of a stream, and the position of one that is empty. */
const BEGINNING = '0-0';

/**
 * What `@socket.io/redis-streams-adapter` reads its stream with. The adapter reads again at once when a read has
 * failed, so that one which fails at once would keep the process from doing anything else: here a read waits until
 * Redis is there. And it begins with `$`, the end of the stream, again and again until there was something to read, so
 * that what comes between two reads is lost: here `$` is the end as it was in the beginning.
 */
export class StreamReader extends EventEmitter {
  /** Resolves when the position to read from is known: from then on nothing is missed. */
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
    // Its declaration knows each combination of options, and no list of them.
    const read = this.redis.xread.bind(this.redis) as unknown as (...args: (string | number)[]) => Promise<ReadReply>;
    const from = args.at(-1) === '$' ? this.position : (args.at(-1) as string);
    for (;;) {
      await this.whenReady();
      try {
        return await read(...options, from);
      } catch {
        // The next connection goes on from the same position.
        if (this.redis.status === 'ready') await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** What the adapter calls when its last namespace is closed. */
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

  /** Once closed it never resolves: nobody reads any more. */
  private async whenReady(): Promise<void> {
    if (this.isClosed) await new Promise(() => {});
    while (this.redis.status !== 'ready') await once(this.redis, 'ready');
  }
}
