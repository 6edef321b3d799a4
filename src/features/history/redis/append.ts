import { type Cluster, Redis } from 'ioredis';
import { Batcher, type Entry } from '../batcher.js';
import { type AppendJob, weightOf } from '../checked-store.js';
import { type AppendResult, HistoryError, type HistoryLimits, resultsOf, retentionOf } from '../store.js';
import { takeTags } from '../tags.js';
import type { Keys } from './keys.js';
import type { Scripts } from './scripts.js';

/** Error replies that say only that Redis cannot serve the command at present. It has then stored nothing. */
const notNow = ['LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'NOREPLICAS', 'BUSY', 'READONLY'];

/** The error for an append that failed. */
function appendError(error: unknown): HistoryError {
  return answer(error) ?? new HistoryError('HISTORY_UNCERTAIN', error);
}

/** The error for a read that failed, which has changed nothing. */
export function readError(error: unknown): HistoryError {
  return answer(error) ?? new HistoryError('HISTORY_UNAVAILABLE', error);
}

/** The error if Redis has replied with one, or if nothing was sent: then nothing was kept. */
function answer(error: unknown): HistoryError | undefined {
  if (error instanceof HistoryError) return error;
  if (!(error instanceof Error)) return undefined;
  if (error.message.includes('enableOfflineQueue')) return new HistoryError('HISTORY_UNAVAILABLE', error);
  if (error.name !== 'ReplyError') return undefined;
  // Redis 6 puts the code of an error inside a script behind other words.
  const code = /^ERR Error running script .* -([A-Z]+) /.exec(error.message)?.[1] ?? error.message.split(' ', 1)[0]!;
  return new HistoryError(notNow.includes(code) ? 'HISTORY_UNAVAILABLE' : 'HISTORY_REFUSED', error);
}

/** The scripts on a pipeline, which returns itself. exec() returns the outcome of each. */
type Queued = { [name in keyof Scripts]: (...args: Parameters<Scripts[name]>) => unknown };

/** The tag of the message before, and per append the offset of its last message, negative for a duplicate, and its tag. */
type Reply = [before: number, ...lasts: number[]];
type JobEntry = Entry<AppendJob, AppendResult[]>;

/** The weight of one batch; see {@link weightOf}. */
const MAX_BATCH = 2000;
/** The weight of a script call itself. A conversation's first message takes Redis as long as this many further ones. */
const CALL_WEIGHT = 20;
/**
 * Redis keeps the order of a connection, so that a batch need not wait for the answer of the one before. More of them would
 * keep the messages of other clients waiting behind those of one that writes to many conversations.
 */
const MAX_BATCHES = 4;
/** The weight of one script call: about a millisecond, in which Redis serves no other client. */
const MAX_SCRIPT = 200;

/** Group commit for Redis: the appends of one turn share a pipeline, with one script call per conversation. */
export class RedisAppender {
  private readonly batcher = new Batcher<AppendJob, AppendResult[]>({
    commit: (entries) => this.send(entries),
    windowMs: 1,
    maxWeight: MAX_BATCH,
    concurrency: MAX_BATCHES,
  });
  /** The conversations of the jobs that wait for a batch. */
  private readonly queued = new Set<string>();

  constructor(
    private readonly client: (Redis | Cluster) & Scripts,
    private readonly keys: Keys,
    private readonly options: Required<HistoryLimits>,
  ) {}

  append(job: AppendJob): Promise<AppendResult[]> {
    const callWeight = this.queued.has(job.conversation) ? 0 : CALL_WEIGHT;
    this.queued.add(job.conversation);
    return this.batcher.add(job, weightOf(job) + callWeight, job.client);
  }

  idle(): Promise<void> {
    return this.batcher.idle();
  }

  private async send(entries: JobEntry[]): Promise<void> {
    for (const { job } of entries) this.queued.delete(job.conversation);
    // Without a connection it would wait for one, and might be kept long after its caller has stopped waiting.
    if (this.client.status !== 'ready') throw new HistoryError('HISTORY_UNAVAILABLE');
    const calls = groupByConversation(entries);
    const commands = calls.map((call) => this.command(call));
    if (this.client instanceof Redis && commands.length > 1) {
      const pipeline = this.client.pipeline() as ReturnType<Redis['pipeline']> & Queued;
      for (const [keys, ...args] of commands) pipeline.gjallarAppend(keys, ...args);
      const replies = (await pipeline.exec()) ?? [];
      for (const [index, call] of calls.entries()) {
        const [error, reply] = replies[index] ?? [new Error('no reply'), undefined];
        if (error) fail(call, error);
        else settle(call, reply as Reply);
      }
    } else {
      await Promise.all(
        commands.map(([keys, ...args], index) =>
          this.client.gjallarAppend(keys, ...args).then(
            (reply) => settle(calls[index]!, reply),
            (error: unknown) => fail(calls[index]!, error),
          ),
        ),
      );
    }
  }

  private command(call: JobEntry[]): [number, ...(string | number)[]] {
    const { conversation } = call[0]!.job;
    const { ttlMs, maxMessages } = this.options;
    const { meta, stream, log, due, low } = this.keys.of(conversation);
    const keys: string[] = [meta, stream, log, due, low];
    const placeOf = (key: string | undefined) => (key === undefined ? 0 : keys.push(this.keys.key(conversation, key)));
    const count = call.reduce((sum, { job }) => sum + job.messages.length, 0);
    const args: (string | number)[] = [conversation, takeTags(count), ttlMs, retentionOf(ttlMs), maxMessages];
    for (const { job } of call) {
      args.push(placeOf(job.key), job.messages.length);
      for (const { from, text, at } of job.messages) args.push(from, text, at);
    }
    return [keys.length, ...keys, ...args];
  }
}

function groupByConversation(entries: JobEntry[]): JobEntry[][] {
  const calls: JobEntry[][] = [];
  const open = new Map<string, { entries: JobEntry[]; weight: number }>();
  for (const entry of entries) {
    const { conversation } = entry.job;
    let call = open.get(conversation);
    if (!call || call.weight + entry.weight > MAX_SCRIPT) {
      call = { entries: [], weight: 0 };
      open.set(conversation, call);
      calls.push(call.entries);
    }
    call.entries.push(entry);
    call.weight += entry.weight;
  }
  return calls;
}

function settle(call: JobEntry[], [newest, ...lasts]: Reply): void {
  let before = newest;
  for (const [index, entry] of call.entries()) {
    const [offset, tag] = [lasts[2 * index]!, lasts[2 * index + 1]!];
    const { length } = entry.job.messages;
    const isDuplicate = offset < 0 || undefined;
    entry.resolve(resultsOf({ offset: Math.abs(offset), tag }, length, isDuplicate ? 0 : before, isDuplicate));
    if (!isDuplicate) before = tag;
  }
}

function fail(call: JobEntry[], error: unknown): void {
  for (const entry of call) entry.reject(appendError(error));
}
