import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { HistoryError } from '../errors.js';
import { checkQuery } from '../input.js';
import type { Change, PageQuery } from '../store.js';
import { connect, retryBusy } from './database.js';
import { type ArchivePage, readArchive } from './read.js';
import { encode, type LogRow, type MessageRow, migrate, type StateRow, tables } from './schema.js';

/** Somebody else has archived since the cursor was read. Nothing was written: read the cursor anew. */
export class ArchiveConflict extends Error {
  constructor() {
    super('Somebody else has archived in the meantime.');
    this.name = 'ArchiveConflict';
  }
}

/** Rows in one statement: SQLite takes 32,766 parameters, and MySQL as little as a megabyte. */
const MAX_ROWS = 500;
const MAX_TEXT = 250_000;

/** What readers need of an archive. */
export type ArchiveReader = Pick<Archive, 'read'>;

/**
 * The permanent store: a database behind the fast one. It has what an archiver has written into it, and so it lags
 * behind by as much as that.
 */
export class Archive {
  private readonly knex: Knex;

  private constructor(knex: Knex) {
    this.knex = knex;
  }

  /**
   * Connects, and brings the tables up to date.
   *
   * @param url `sqlite:<path>`, `postgres://…` or `mysql://…`
   * @throws RangeError for another scheme
   * @throws HistoryError `HISTORY_UNAVAILABLE` if the database cannot be reached or used
   */
  static async open(url: string): Promise<Archive> {
    let knex: Knex | undefined;
    try {
      const database = connect(url);
      knex = database.knex;
      await migrate(knex, database.dialect);
      return new Archive(knex);
    } catch (error) {
      await knex?.destroy();
      throw error instanceof RangeError ? error : new HistoryError('HISTORY_UNAVAILABLE', error);
    }
  }

  /** Up to where the fast store's changes are archived; undefined before the first. */
  async cursor(): Promise<string | undefined> {
    const row = await retryBusy(async () => this.knex<StateRow>(tables.state).where('name', 'cursor').first());
    return row?.value || undefined;
  }

  /**
   * Writes a batch of changes and moves the cursor, in one transaction. A message that is there already is not written
   * again, so that each is in the archive exactly once.
   *
   * @param from the cursor that the changes were read with
   * @param to the cursor that came with them
   * @throws ArchiveConflict if the archive's cursor is not `from`
   */
  async write(changes: readonly Change[], from: string | undefined, to: string): Promise<void> {
    const work = async (trx: Knex) => {
      // First of all, since it locks: whoever else writes waits here, and then finds the cursor moved.
      const cursor = trx<StateRow>(tables.state).where({ name: 'cursor', value: from ?? '' });
      if ((await cursor.update({ value: to })) !== 1) throw new ArchiveConflict();
      const logs = await openLogs(trx, changes);
      const rows = new Map<string, MessageRow>();
      for (const change of changes) {
        const log = logs.get(logKey(change))!;
        const { offset, at: said_at } = change;
        rows.set(`${log}:${offset}`, { log, offset, said_at, sender: encode(change.from), text: encode(change.text) });
      }
      for (const chunk of chunks([...rows.values()])) {
        // Merging a column of the key changes nothing. MySQL's way of ignoring would ignore other errors too.
        await trx(tables.messages).insert(chunk).onConflict(['log', 'offset']).merge(['offset']);
      }
    };
    await retryBusy(() => this.knex.transaction(work));
  }

  /**
   * Reads as {@link HistoryStore.read} does, but does not tell what is missing: offsets tell that.
   *
   * @returns the messages that are there, and the newest position archived; offset 0 if the epoch is not known
   */
  async read(conversation: string, query: PageQuery): Promise<ArchivePage> {
    checkQuery(conversation, query);
    try {
      return await retryBusy(() => readArchive(this.knex, hashOf(conversation), query));
    } catch (error) {
      throw new HistoryError('HISTORY_UNAVAILABLE', error);
    }
  }

  /**
   * Makes one of many processes the archiver. By its own clock; where clocks differ, two may archive for a while, and
   * the cursor keeps the second from writing.
   *
   * @param forMs how long, in milliseconds; 0 gives it back
   * @returns whether the owner is the archiver now
   */
  async lease(owner: string, forMs: number): Promise<boolean> {
    const now = Date.now();
    const free = (row: Knex.QueryBuilder) => row.where('value', owner).orWhere('until', '<', now);
    const lease = { value: owner, until: forMs === 0 ? 0 : now + forMs };
    const updated = await retryBusy(() =>
      this.knex.transaction((trx) =>
        trx<StateRow>(tables.state).where('name', 'archiver').andWhere(free).update(lease),
      ),
    );
    return updated === 1;
  }

  async close(): Promise<void> {
    await this.knex.destroy();
  }
}

const hashOf = (conversation: string): string => createHash('sha256').update(conversation).digest('hex');
const logKey = ({ conversation, epoch }: Change): string => `${epoch} ${conversation}`;

/** The ids of the logs that the changes belong to; makes those that are new, and notes how far each goes now. */
async function openLogs(trx: Knex, changes: readonly Change[]): Promise<Map<string, number>> {
  const newest = new Map<string, Change>();
  for (const change of changes) {
    const before = newest.get(logKey(change));
    if (!before || before.offset < change.offset) newest.set(logKey(change), change);
  }
  const ids = new Map<string, number>();
  for (const [key, change] of newest) {
    const { conversation, epoch, follows, offset } = change;
    const own = { conversation_hash: hashOf(conversation), epoch };
    const known = await trx<LogRow>(tables.logs).where(own).first('id', 'last_offset');
    if (!known) {
      await trx(tables.logs).insert({
        ...own,
        conversation: encode(conversation),
        follows_epoch: follows?.epoch ?? null,
        follows_offset: follows?.offset ?? null,
        last_offset: offset,
      });
    } else if (Number(known.last_offset) < offset) {
      await trx<LogRow>(tables.logs).where('id', known.id).update({ last_offset: offset });
    }
    const { id } = known ?? (await trx<LogRow>(tables.logs).where(own).first('id'))!;
    ids.set(key, Number(id));
  }
  return ids;
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
