import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { checkQuery } from '../checked-store.js';
import { type ArchivePage, fitting } from '../page.js';
import { type Change, HistoryError, type PageQuery, type Position } from '../store.js';
import { connect, createTables, encode, type LogRow, type MessageRow, type StateRow, tables } from './database.js';
import type { Dialect } from './packages.js';
import {
  eraseConversation,
  eraseMessages,
  erasePlaces,
  logsOf,
  logWith,
  readArchive,
  rejectBatchesInFlight,
  walkArchive,
} from './read.js';
import type { ArchivedMessage, ArchivedPlace, Search } from './search.js';

/** Another process has archived since the cursor was read. Nothing was written: read the cursor again. */
export class ArchiveConflict extends Error {
  constructor() {
    super('Another process has archived in the meantime.');
    this.name = 'ArchiveConflict';
  }
}

/** The database cannot be reached, or rejects a call. */
export class ArchiveUnavailable extends HistoryError {
  constructor(cause: unknown) {
    super('HISTORY_UNAVAILABLE', cause);
  }
}

/** Rows in one statement: MySQL takes as little as a megabyte. */
const MAX_ROWS = 500;
const MAX_TEXT = 250_000;

/**
 * The permanent store: a database behind the history. An archiver copies messages into it, so it lags behind. It connects once
 * it is used.
 */
export class Archive {
  private readonly knex: Knex;
  private readonly dialect: Dialect;
  private tables: Promise<void> | undefined;

  /**
   * @param url `postgres://…` or `mysql://…`
   * @throws RangeError for another scheme
   */
  constructor(url: string) {
    ({ knex: this.knex, dialect: this.dialect } = connect(url));
  }

  /** Resolves once the tables are there. @throws ArchiveUnavailable */
  private async ready(): Promise<Knex> {
    this.tables ??= createTables(this.knex, this.dialect);
    try {
      await this.tables;
      return this.knex;
    } catch (error) {
      this.tables = undefined;
      throw new ArchiveUnavailable(error);
    }
  }

  /** The position in the history's changes up to which they are archived; undefined before the first. */
  async cursor(): Promise<string | undefined> {
    return (await this.stateOf('cursor')) || undefined;
  }

  /** Names the last erasure. Read it before the changes that {@link write} takes. */
  async lastErasure(): Promise<string> {
    return (await this.stateOf('erasures')) ?? '';
  }

  /** @throws ArchiveUnavailable */
  private stateOf(name: string): Promise<string | undefined> {
    return this.using(async (knex) => (await knex<StateRow>(tables.state).where('name', name).first())?.value);
  }

  /**
   * Writes a batch of changes and moves the cursor, in one transaction. A message that the archive has
   * already is not written again.
   *
   * @param from the cursor that the changes were read with
   * @param to the cursor that came with them
   * @param erasure the last erasure before the changes were read; if it is given, a later one is a conflict
   * @throws ArchiveConflict if the archive's cursor is not `from`
   */
  async write(changes: readonly Change[], from: string | undefined, to: string, erasure?: string): Promise<void> {
    const work = async (trx: Knex) => {
      // The first statement, because it takes the lock: another writer waits here, and then finds the cursor moved.
      const cursor = trx<StateRow>(tables.state).where({ name: 'cursor', value: from ?? '' });
      if ((await cursor.update({ value: to })) !== 1) throw new ArchiveConflict();
      const last = await trx<StateRow>(tables.state).where('name', 'erasures').first();
      if (erasure !== undefined && last?.value !== erasure) throw new ArchiveConflict();
      const rows = await placed(trx, changes);
      for (let rest = rows; rest.length > 0; ) {
        const chunk = fitting(rest.slice(0, MAX_ROWS), MAX_TEXT, ({ text }) => text.length);
        rest = rest.slice(chunk.length);
        // Merging a column of the key changes nothing. INSERT IGNORE of MySQL would ignore other errors too.
        await trx(tables.messages).insert(chunk).onConflict(['log', 'offset']).merge(['offset']);
      }
    };
    await (await this.ready()).transaction(work);
  }

  /**
   * Reads like {@link HistoryStore.read}, but without `complete`: missing messages show as gaps between offsets.
   *
   * @param query its tag is that of the message at `before`, which names the log; otherwise it is the newest one
   */
  async read(conversation: string, query: PageQuery): Promise<ArchivePage> {
    checkQuery(conversation, query);
    return this.using((knex) => readArchive(knex, hashOf(conversation), query));
  }

  /**
   * Erases messages, after they were erased in the history. Each keeps its place, without author and text.
   *
   * @returns how many messages had an author or a text
   * @throws HistoryError `HISTORY_UNAVAILABLE`; a repetition does no harm
   */
  erase(conversation: string, places: readonly Position[]): Promise<number> {
    return this.erasing((knex) => eraseMessages(knex, hashOf(conversation), places));
  }

  /** Erases all messages of a conversation; see {@link erase}. */
  eraseConversation(conversation: string): Promise<number> {
    return this.erasing((knex) => eraseConversation(knex, hashOf(conversation)));
  }

  /** Erases messages that {@link search} has found; see {@link erase}. */
  eraseFound(places: readonly ArchivedPlace[]): Promise<number> {
    return this.erasing((knex) => erasePlaces(knex, places));
  }

  /** Finds messages in the whole archive, in pages. @throws HistoryError `HISTORY_UNAVAILABLE` */
  async *search(search: Search): AsyncGenerator<ArchivedMessage[]> {
    try {
      yield* walkArchive(await this.ready(), search);
    } catch (error) {
      throw unavailable(error);
    }
  }

  private async erasing(erase: (knex: Knex) => Promise<number>): Promise<number> {
    return this.using(async (knex) => {
      await rejectBatchesInFlight(knex);
      return erase(knex);
    });
  }

  /** @throws ArchiveUnavailable */
  private async using<Result>(use: (knex: Knex) => Promise<Result>): Promise<Result> {
    try {
      return await use(await this.ready());
    } catch (error) {
      throw unavailable(error);
    }
  }

  /**
   * Makes one of many processes the archiver, by its own clock. Where clocks differ, two processes may archive for a
   * while; the cursor keeps the second from writing.
   *
   * @param forMs how long, in milliseconds; 0 ends the lease
   * @returns whether the owner is the archiver now
   */
  async lease(owner: string, forMs: number): Promise<boolean> {
    const now = Date.now();
    const free = (row: Knex.QueryBuilder) => row.where('value', owner).orWhere('until', '<', now);
    const lease = { value: owner, until: forMs === 0 ? 0 : now + forMs };
    const knex = await this.ready();
    return (await knex<StateRow>(tables.state).where('name', 'archiver').andWhere(free).update(lease)) === 1;
  }

  async close(): Promise<void> {
    await this.knex.destroy();
  }
}

const unavailable = (error: unknown) => (error instanceof ArchiveUnavailable ? error : new ArchiveUnavailable(error));

const hashOf = (conversation: string): string => createHash('sha256').update(conversation).digest('hex');
/**
 * The changes as rows, each in its log. A message that does not follow the newest one of a log begins another log: the history
 * has lost messages that are archived. After a restore, messages that are archived already come again.
 */
async function placed(trx: Knex, changes: readonly Change[]): Promise<MessageRow[]> {
  const rows: MessageRow[] = [];
  const logs = new Map<string, LogRow[]>();
  const open = new Set<LogRow>();
  for (const change of changes) {
    const { conversation, offset, tag, before, at: said_at } = change;
    const hash = hashOf(conversation);
    const known = logs.get(hash) ?? (await logsOf(trx, hash)).map(numbered);
    logs.set(hash, known);
    /** The log that has a message, which may be in this batch. */
    const logOf = async (place: Position) => {
      const written = rows.find((row) => row.tag === place.tag && row.offset === place.offset);
      return known.find(({ id }) => id === written?.log) ?? (await logWith(trx, known, place));
    };
    const newest = known.reduce<LogRow | undefined>(
      (one, other) => (one && one.last_tag > other.last_tag ? one : other),
      undefined,
    );
    const isNewest = !newest || newest.last_tag < tag;
    if (!isNewest && (await logOf({ offset, tag }))) continue;
    let log = known.find(({ last_offset, last_tag }) => last_tag === before && last_offset === offset - 1);
    // Messages before it were trimmed before they were archived.
    if (!log && newest && isNewest && newest.last_offset < offset - 1) log = newest;
    if (!log) {
      const former = before > 0 ? await logOf({ offset: offset - 1, tag: before }) : undefined;
      log = await begin(trx, hash, encode(conversation), former && { log: former.id, offset: offset - 1 });
      known.push(log);
    }
    log.last_offset = offset;
    log.last_tag = tag;
    open.add(log);
    rows.push({ log: log.id, offset, tag, said_at, sender: encode(change.from), text: encode(change.text) });
  }
  for (const { id, last_offset, last_tag } of open) {
    await trx<LogRow>(tables.logs).where({ id }).update({ last_offset, last_tag });
  }
  return rows;
}

/** Creates a log, which may continue another one up to an offset. */
async function begin(trx: Knex, hash: string, conversation: string, former?: ArchivedPlace): Promise<LogRow> {
  const row = { conversation_hash: hash, conversation, last_offset: 0, last_tag: 0 };
  await trx(tables.logs).insert({ ...row, follows: former?.log ?? null, follows_offset: former?.offset ?? null });
  // Not every database returns the id.
  return numbered((await trx<LogRow>(tables.logs).where('conversation_hash', hash).orderBy('id', 'desc').first())!);
}

/** Some drivers return 64-bit integers as strings. */
function numbered(row: LogRow): LogRow {
  const { id, last_offset, last_tag } = row;
  return { ...row, id: Number(id), last_offset: Number(last_offset), last_tag: Number(last_tag) };
}
