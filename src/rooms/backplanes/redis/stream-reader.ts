import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { MalformedMessage } from '../../../errors.js';
import { checkClusterMessage } from '../checks.js';
import type { ConnectionHealth } from '../connection-health.js';

type Entry = [id: string, fields: string[]];
type ReadReply = [stream: string, entries: Entry[]][] | null;

/** Leaves out entries that the adapter could not decode when it recovers a session. */
export function readable(entries: Entry[]): Entry[] {
  return entries.filter(([, fields]) => {
    const data = fieldOf(fields, 'data');
    if (!data?.startsWith('{')) return true;
    try {
      const type = Number(fieldOf(fields, 'type'));
      checkClusterMessage({ uid: fieldOf(fields, 'uid'), nsp: fieldOf(fields, 'nsp'), type, data: JSON.parse(data) });
      return true;
    } catch {
      return false;
    }
  });
}

/** The value of a field; entries list fields and values in turn. */
function fieldOf(fields: readonly string[], name: string): string | undefined {
  const at = fields.findIndex((field, index) => index % 2 === 0 && field === name);
  return at === -1 ? undefined : fields[at + 1];
}

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
    private readonly outage: Pick<ConnectionHealth, 'inbox' | 'rejections'>,
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
    return this.untilAnswered('XREAD', async () => {
      const reply = await read(...options, from);
      for (const [, entries] of reply ?? []) for (const entry of entries) this.note(entry);
      return reply;
    });
  }

  /** The adapter calls this when its last namespace is closed. */
  disconnect(): void {
    this.close();
  }

  close(): void {
    this.isClosed = true;
    this.redis.disconnect();
  }

  /** The adapter silently ignores entries without a namespace. */
  private note([id, fields]: Entry): void {
    if (fieldOf(fields, 'nsp')) return;
    this.outage.inbox.drop(new MalformedMessage(`entry ${id} of the stream has no namespace`));
  }

  private async start(): Promise<void> {
    const [last] = await this.untilAnswered('XREVRANGE', () => this.redis.xrevrange(this.stream, '+', '-', 'COUNT', 1));
    this.position = last?.[0] ?? BEGINNING;
  }

  /** Repeats a command until Redis answers it. */
  private async untilAnswered<T>(name: string, send: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.whenReady();
      try {
        const reply = await send();
        this.outage.rejections.note([name]);
        return reply;
      } catch (error) {
        this.outage.rejections.note([name], error, true);
        // After a lost connection, the loop waits for the next one.
        if (this.redis.status === 'ready') await sleep(100);
      }
    }
  }

  /** Never resolves after the reader is closed, which ends the adapter's loop. */
  private async whenReady(): Promise<void> {
    if (this.isClosed) await new Promise(() => {});
    while (this.redis.status !== 'ready') await once(this.redis, 'ready');
  }
}
