import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { GjallarError } from '../../../base/errors.js';
import { requirePackages } from '../../../base/optional-packages.js';
import { integer, row, settingsOf, text, type Values } from '../../../base/options.js';
import { type AppendJob, CheckedStore, type EraseJob } from '../checked-store.js';
import { createPrivately } from '../files.js';
import { FileLossNotices, type LossNotices } from '../loss/watch.js';
import { buildPage, isForwards, type LogState, OVERHEAD_BYTES, placeOf, planPage, positionIn } from '../page.js';
import {
  type AppendResult,
  type Changes,
  HistoryError,
  type HistoryLimits,
  limitOptions,
  MAX_PAGE_BYTES,
  type Page,
  type PageQuery,
  type Position,
  retentionOf,
  type StoredMessage,
  type StoreEvents,
} from '../store.js';
import { decodeText, encodeText, type ReadStatement, type Text } from './connection.js';
import { type Lookup, lookup, PositionWriter } from './position.js';
import { openFile, type SqliteFile } from './schema.js';
import { liveBytes } from './trim.js';
import { historyError, SqliteWriter } from './writer.js';

export interface SqliteOptions extends HistoryLimits {
  /** The directory of `history.db`, created if it does not exist. It must be on a local file system. */
  dataDir: string;
  /**
   * How many bytes the messages in the file may take. Beyond it, the oldest of all conversations are removed.
   * @default no limit
   */
  maxBytes?: number;
}

const options = { ...limitOptions, dataDir: row(text('a path', /./)), maxBytes: row(integer(1, undefined, 'bytes')) };

/** The database in `dataDir`. */
export const FILE = 'history.db';

/** Up to this number of messages are read without looking at their lengths first. */
const FEW = 16;

/** With less than this on the disk, it counts as full. */
const MIN_FREE_BYTES = 1_048_576;

/** Finds the last of the messages, in an order, that together have this number of bytes. Lengths are read without the texts. */
function fitting(column: 'offset' | 'serial', where: string, order: 'ASC' | 'DESC'): string {
  return `SELECT ${order === 'ASC' ? 'MAX' : 'MIN'}(${column}) AS bound FROM (
    SELECT ${column}, SUM(octet_length(sender) + octet_length(text) + ${OVERHEAD_BYTES})
      OVER (ORDER BY ${column} ${order}) AS bytes FROM messages WHERE ${where}
  ) WHERE bytes <= ${MAX_PAGE_BYTES}`;
}

/** Exported for the tests, which look at their query plans. */
export const queries = {
  conversation: 'SELECT id, offset, tag, first FROM conversations WHERE name = ?',
  tag: 'SELECT tag FROM messages WHERE conversation = ? AND offset = ?',
  page: `SELECT offset, tag, at, sender, text FROM messages
    WHERE conversation = ? AND offset BETWEEN ? AND ? ORDER BY offset`,
  lastThatFits: fitting('offset', 'conversation = ? AND offset BETWEEN ? AND ?', 'ASC'),
  firstThatFits: fitting('offset', 'conversation = ? AND offset BETWEEN ? AND ?', 'DESC'),
  lastChangeThatFits: fitting('serial', 'serial IN (SELECT serial FROM messages WHERE serial > ? LIMIT ?)', 'ASC'),
  bytes: liveBytes,
  newest: PositionWriter.query,
  change: lookup,
  changes: `SELECT m.serial, c.name, m.offset, m.tag, m.before, m.at, m.sender, m.text
    FROM messages m JOIN conversations c ON c.id = m.conversation
    WHERE m.serial > ? AND m.serial <= ? ORDER BY m.serial LIMIT ?`,
} as const;

interface MessageRow extends Position {
  at: number;
  sender: Text;
  text: Text;
}

/**
 * The embedded store: one SQLite file that all processes of a machine share.
 *
 * Reads have a connection of their own, which never waits for the writer; a page of 50 takes a tenth of a millisecond of this
 * thread. For writing see {@link SqliteWriter}.
 */
export class SqliteHistoryStore extends CheckedStore {
  private readonly dataDir: string;
  private readonly sql: Record<keyof typeof queries, ReadStatement>;
  private readonly position: PositionWriter;
  private hasLost: boolean;
  readonly lossNotices: LossNotices;

  private constructor(
    private readonly file: SqliteFile,
    private readonly writer: SqliteWriter,
    settings: Values<typeof options> & { dataDir: string },
  ) {
    super(settings);
    this.dataDir = settings.dataDir;
    const prepared = Object.entries(queries).map(([name, sql]) => [name, file.reader.prepare(sql)]);
    // To name each column of each row takes libsql a tenth of the time of a page.
    const page = file.reader.prepare(queries.page).raw(true);
    this.sql = { ...Object.fromEntries(prepared), page } as Record<keyof typeof queries, ReadStatement>;
    this.position = new PositionWriter(join(settings.dataDir, FILE), this.sql.newest, () => {
      this.hasLost = true;
      for (const { onLost } of this.listeners) onLost?.();
    });
    this.hasLost = file.hasLost;
    this.lossNotices = new FileLossNotices(join(settings.dataDir, `${FILE}-loss`));
  }

  /** The file was replaced or removed since the last start, or is so while it is open: `onLost` tells both. */
  override listen(events: StoreEvents): void {
    super.listen(events);
    events.onReady?.();
    if (this.hasLost) events.onLost?.();
  }

  /**
   * @throws HistoryError `HISTORY_UNAVAILABLE` if the file cannot be opened
   * @throws GjallarError BAD_CONFIG if libsql is not installed
   */
  static async open(given: SqliteOptions): Promise<SqliteHistoryStore> {
    const settings = settingsOf('SqliteHistoryStore', options, given);
    const { dataDir, maxBytes, maxMessages } = settings;
    if (!dataDir) throw new GjallarError('BAD_INPUT', 'SqliteHistoryStore needs the option dataDir.');
    requirePackages('the history in SQLite', ['libsql']);
    try {
      const path = join(dataDir, FILE);
      createPrivately(path);
      const file = await openFile(path);
      let store: SqliteHistoryStore;
      const onTrimmed = (count: number) => {
        for (const events of store.listeners) events.onTrimmed?.(count);
      };
      const writer = await SqliteWriter.prepare(file.writer, { maxMessages, maxBytes, onTrimmed });
      store = new SqliteHistoryStore(file, writer, { ...settings, dataDir });
      return store;
    } catch (error) {
      throw new HistoryError('HISTORY_UNAVAILABLE', error);
    }
  }

  protected async keep(job: AppendJob): Promise<AppendResult[]> {
    this.position.check();
    const results = await this.writer.append(job);
    this.position.committed();
    return results;
  }

  protected async page(conversation: string, query: PageQuery): Promise<Page> {
    const log = this.logOf(conversation);
    const at = positionIn(query);
    if (!at) return this.pageOf(log, query)!;
    // The log usually has the reader's message, which costs less to read with the page than on its own.
    const isInside = query.after !== undefined && log.first <= at.offset && at.offset < log.offset;
    const place = () => placeOf(log, at, (offset) => this.tagOf(log.id, offset));
    return (isInside && this.pageOf(log, query, at)) || this.pageOf({ ...log, place: place() }, query)!;
  }

  /**
   * @param at a message just before the page, which is compared
   * @returns undefined if the log has another message there
   */
  private pageOf(log: LogState & { id: number }, query: PageQuery, at?: Position): Page | undefined {
    const { from, to } = planPage(log, query);
    const range = this.fit(log.id, from, to, isForwards(query));
    type Row = [offset: number, tag: number, at: number, sender: Text, text: Text];
    const rows = this.all<Row>('page', [log.id, at?.offset ?? range.from, range.to]);
    if (at) {
      const [offset, tag] = rows.shift() ?? [];
      if (offset !== at.offset || tag !== at.tag) return undefined;
    }
    const messages = rows.map(([offset, tag, at, sender, text]) => messageOf({ offset, tag, at, sender, text }));
    return buildPage(log, query, messages, range.from > from || range.to < to);
  }

  protected blank(job: EraseJob): Promise<number> {
    return this.writer.erase(job);
  }

  protected async removeOld(now: number): Promise<number> {
    const job = { horizon: now - this.ttlMs, forgetBefore: now - retentionOf(this.ttlMs) };
    let total = 0;
    for (let more = true; more; ) {
      this.expectOpen();
      const outcome = await this.writer.trim(job);
      total += outcome.removed;
      more = outcome.more;
    }
    for (let more = true; more; ) {
      this.expectOpen();
      ({ more } = await this.writer.trimToSize());
    }
    return total;
  }

  get bytes(): number | undefined {
    try {
      return this.all<{ bytes: number }>('bytes', [])[0]?.bytes;
    } catch {
      // Reads and appends report the reason.
      return undefined;
    }
  }

  protected async probe(): Promise<void> {
    this.position.check();
    // A small write may still fit where the next message does not.
    const { bavail, bsize } = await statfs(this.dataDir);
    if (bavail * bsize < MIN_FREE_BYTES) {
      throw new HistoryError('HISTORY_REFUSED', new Error('the disk is full'));
    }
    await this.writer.check();
  }

  protected async tail(after: string | undefined, limit: number): Promise<Changes> {
    const since = this.serialAfter(after);
    type Row = MessageRow & { serial: number; name: Text; before: number };
    const rows = this.all<Row>('changes', [since, this.lastChangeThatFits(since, limit), limit]);
    return {
      changes: rows.map((row) => ({
        conversation: decodeText(row.name),
        ...messageOf(row),
        before: row.before,
      })),
      cursor: rows.length > 0 ? `${rows.at(-1)!.serial}:${rows.at(-1)!.tag}` : (after ?? '0:0'),
    };
  }

  /** The last change that a cursor covers. That of a database that has another message there means nothing here. */
  private serialAfter(cursor = ''): number {
    const [serial = 0, tag = 0] = cursor.split(':').map(Number);
    const [found] = this.all<Lookup>('change', [serial]);
    return found && (found.serial ?? 0) >= serial && (found.tag ?? tag) === tag ? serial : 0;
  }

  protected async end(): Promise<void> {
    await this.writer.close();
    this.position.close();
    this.file.reader.close();
  }

  protected async state(conversation: string): Promise<LogState> {
    return this.logOf(conversation);
  }

  private logOf(conversation: string): LogState & { id: number } {
    const [row] = this.all<LogState & { id: number }>('conversation', [encodeText(conversation)]);
    // Nothing is written for a reader.
    return row ?? { id: 0, offset: 0, tag: 0, first: 1 };
  }

  private tagOf(id: number, offset: number): number {
    return this.all<{ tag: number }>('tag', [id, offset])[0]?.tag ?? 0;
  }

  /** The part of a range of offsets that fits into a page. */
  private fit(id: number, from: number, to: number, forwards: boolean): { from: number; to: number } {
    if (to - from < FEW) return { from, to };
    const [row] = this.all<{ bound: number | null }>(forwards ? 'lastThatFits' : 'firstThatFits', [id, from, to]);
    // Without a bound the first message alone is too large.
    return forwards ? { from, to: row?.bound ?? from } : { from: row?.bound ?? to, to };
  }

  private lastChangeThatFits(since: number, limit: number): number {
    if (limit < FEW) return Number.MAX_SAFE_INTEGER;
    const [row] = this.all<{ bound: number | null }>('lastChangeThatFits', [since, limit]);
    return row?.bound ?? since + 1;
  }

  private all<Row>(query: keyof typeof queries, parameters: unknown[]): Row[] {
    this.expectOpen();
    try {
      return this.sql[query].all(parameters) as Row[];
    } catch (error) {
      throw historyError(error);
    }
  }
}

function messageOf({ sender, text, at, offset, tag }: MessageRow): StoredMessage {
  return { from: decodeText(sender), text: decodeText(text), at, offset, tag };
}
