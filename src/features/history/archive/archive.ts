import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { checkQuery } from '../checked-store.js';
import type { ArchivePage } from '../page.js';
import { type Change, HistoryError, type PageQuery } from '../store.js';
import { connect, createTables, encode, type LogRow, type MessageRow, type StateRow, tables } from './database.js';
import {
  eraseConversation,
  eraseOffsets,
  erasePlaces,
  logsOf,
  readArchive,
  rejectBatchesInFlight,
  type Segment,
  segmentsOf,
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

/** Rows in one statement: MySQL takes as little as a megabyte. */
const MAX_ROWS = 500;
const MAX_TEXT = 250_000;

/**
 * The permanent store: a database behind the history. An archiver copies messages into it, so it lags behind.
 */
export class Archive {
  private readonly knex: Knex;

  private constructor(knex: Knex) {
    this.knex = knex;
  }

  /**
   * Connects, and creates the tables that are missing.
   *
   * @param url `postgres://…` or `mysql://…`
   * @throws RangeError for another scheme
   * @throws HistoryError `HISTORY_UNAVAILABLE` if the database cannot be reached or used
   */
  static async open(url: string): Promise<Archive> {
    let knex: Knex | undefined;
    try {
      const database = connect(url);
      knex = database.knex;
      await createTables(knex, database.dialect);
      return new Archive(knex);
    } catch (error) {
      await knex?.destroy();
      throw error instanceof RangeError ? error : new HistoryError('HISTORY_UNAVAILABLE', error);
    }
  }

  /** The position in the history's changes up to which they are archived; undefined before the first. */
  async cursor(): Promise<string | undefined> {
    const row = await this.knex<StateRow>(tables.state).where('name', 'cursor').first();
    return row?.value || undefined;
  }

  /** Names the last erasure. Read it before the changes that {@link write} takes. */
  async lastErasure(): Promise<string> {
    const row = await this.knex<StateRow>(tables.state).where('name', 'erasures').first();
    return row?.value ?? '';
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
      const logs = await openLogs(trx, changes);
      const rows = new Map<string, MessageRow>();
      for (const change of changes) {
        const { offset, at: said_at } = change;
        // After a restore, the archive may have the message already, in the log that this one continues.
        const { log } = logs.get(logKey(change))!.find(({ from, to }) => from <= offset && offset <= to)!;
        rows.set(`${log}:${offset}`, { log, offset, said_at, sender: encode(change.from), text: encode(change.text) });
      }
      for (const chunk of chunks([...rows.values()])) {
        // Merging a column of the key changes nothing. INSERT IGNORE of MySQL would ignore other errors too.
        await trx(tables.messages).insert(chunk).onConflict(['log', 'offset']).merge(['offset']);
      }
    };
    await this.knex.transaction(work);
  }

  /**
   * Reads like {@link HistoryStore.read}, but without `complete`: missing messages show as gaps between offsets.
   *
   * @returns the messages that are there, and the newest position archived; offset 0 if the epoch is not known
   */
  async read(conversation: string, query: PageQuery): Promise<ArchivePage> {
    checkQuery(conversation, query);
    try {
      return await readArchive(this.knex, hashOf(conversation), query);
    } catch (error) {
      throw new HistoryError('HISTORY_UNAVAILABLE', error);
    }
  }

  /**
   * Erases messages, after they were erased in the history. Each keeps its place, without author and text.
   *
   * @returns how many messages had an author or a text
   * @throws HistoryError `HISTORY_UNAVAILABLE`; a repetition does no harm
   */
  erase(conversation: string, epoch: string, offsets: readonly number[]): Promise<number> {
    return this.erasing((knex) => eraseOffsets(knex, hashOf(conversation), epoch, offsets));
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
      yield* walkArchive(this.knex, search);
    } catch (error) {
      throw new HistoryError('HISTORY_UNAVAILABLE', error);
    }
  }

  private async erasing(erase: (knex: Knex) => Promise<number>): Promise<number> {
    try {
      await rejectBatchesInFlight(this.knex);
      return await erase(this.knex);
    } catch (error) {
      throw new HistoryError('HISTORY_UNAVAILABLE', error);
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
    return (await this.knex<StateRow>(tables.state).where('name', 'archiver').andWhere(free).update(lease)) === 1;
  }

  async close(): Promise<void> {
    await this.knex.destroy();
  }
}

const hashOf = (conversation: string): string => createHash('sha256').update(conversation).digest('hex');
const logKey = ({ conversation, epoch }: Change): string => `${epoch} ${conversation}`;

/** Where the messages of the changes belong. Creates new logs, and updates the newest offset of each. */
async function openLogs(trx: Knex, changes: readonly Change[]): Promise<Map<string, Segment[]>> {
  const newest = new Map<string, Change>();
  for (const change of changes) {
    const before = newest.get(logKey(change));
    if (!before || before.offset < change.offset) newest.set(logKey(change), change);
  }
  const places = new Map<string, Segment[]>();
  for (const [key, change] of newest) {
    const { conversation, epoch, follows, offset } = change;
    const hash = hashOf(conversation);
    let logs = await logsOf(trx, hash);
    const ofEpoch = () => logs.find((log) => log.epoch === epoch);
    const known = ofEpoch();
    if (!known) {
      await trx(tables.logs).insert({
        conversation_hash: hash,
        epoch,
        conversation: encode(conversation),
        follows_epoch: follows?.epoch ?? null,
        follows_offset: follows?.offset ?? null,
        last_offset: offset,
      });
    } else if (Number(known.last_offset) < offset) {
      await trx<LogRow>(tables.logs).where('id', known.id).update({ last_offset: offset });
    }
    logs = await logsOf(trx, hash);
    places.set(key, segmentsOf(ofEpoch()!, logs));
  }
  return places;
}

function* chunks(rows: MessageRow[]): Generator<MessageRow[]> {
  let chunk: MessageRow[] = [];
  let size = 0;
  for (const row of rows) {
    if (chunk.length > 0 && (chunk.length === MAX_ROWS || size + row.text.length > MAX_TEXT)) {
      yield chunk;
      chunk = [];
      size = 0;
    }
    chunk.push(row);
    size += row.text.length;
  }
  if (chunk.length > 0) yield chunk;
}
