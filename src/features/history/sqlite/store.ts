import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { GjallarError } from '../../../base/errors.js';
import { requirePackages } from '../../../base/optional-packages.js';
import { integer, row, settingsOf, text, type Values } from '../../../base/options.js';
import { type AppendJob, CheckedStore, type EraseJob } from '../checked-store.js';
import { createPrivately } from '../files.js';
import { FileLossNotices, type LossNotices } from '../loss/watch.js';
import { buildPage, isForwards, type LogState, OVERHEAD_BYTES, planPage } from '../page.js';
import {
  type AppendResult,
  type Changes,
  epochFrom,
  HistoryError,
  type HistoryLimits,
  limitOptions,
  MAX_PAGE_BYTES,
  type Page,
  type PageQuery,
  retentionOf,
  type StoredMessage,
  type StoreEvents,
} from '../store.js';
import { decodeText, encodeText, type Reader, type Text } from './connection.js';
import { MarkWriter, newestSerial } from './mark.js';
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
  conversation: `SELECT c.id, c.epoch, c.offset, c.first, f.epoch AS former, f.offset AS shared
    FROM conversations c LEFT JOIN former f ON f.conversation = c.id WHERE c.name = ?`,
  seed: 'SELECT value FROM seed',
  page: `SELECT offset, at, sender, text FROM messages
    WHERE conversation = ? AND offset BETWEEN ? AND ? ORDER BY offset`,
  lastThatFits: fitting('offset', 'conversation = ? AND offset BETWEEN ? AND ?', 'ASC'),
  firstThatFits: fitting('offset', 'conversation = ? AND offset BETWEEN ? AND ?', 'DESC'),
  lastChangeThatFits: fitting('serial', 'serial IN (SELECT serial FROM messages WHERE serial > ? LIMIT ?)', 'ASC'),
  bytes: liveBytes,
  newestSerial,
  changes: `SELECT m.serial, c.name, c.epoch, m.offset, m.at, m.sender, m.text,
      f.epoch AS former, f.offset AS shared
    FROM messages m JOIN conversations c ON c.id = m.conversation LEFT JOIN former f ON f.conversation = c.id
    WHERE m.serial > ? AND m.serial <= ? ORDER BY m.serial LIMIT ?`,
} as const;

interface MessageRow {
  offset: number;
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
  private readonly sql: Record<keyof typeof queries, Reader>;
  private readonly mark: MarkWriter;
  private readonly listeners: StoreEvents[] = [];
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
    this.sql = Object.fromEntries(prepared) as Record<keyof typeof queries, Reader>;
    const newest = () => (this.sql.newestSerial.all([])[0] as { serial: number } | undefined)?.serial ?? 0;
    this.mark = new MarkWriter(join(settings.dataDir, FILE), file.logId, newest, () => {
      this.hasLost = true;
      for (const { onLost } of this.listeners) onLost?.();
    });
    this.hasLost = file.hasLost;
    this.lossNotices = new FileLossNotices(join(settings.dataDir, `${FILE}-loss`));
  }

  /** The file was restored or removed since the last start, or is so while it is open: `onLost` tells both. */
  listen(events: StoreEvents): void {
    this.listeners.push(events);
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
      const writer = await SqliteWriter.prepare(file.writer, { maxMessages, maxBytes });
      return new SqliteHistoryStore(file, writer, { ...settings, dataDir });
    } catch (error) {
      throw new HistoryError('HISTORY_UNAVAILABLE', error);
    }
  }

  protected async keep(job: AppendJob): Promise<AppendResult[]> {
    this.mark.check();
    const results = await this.writer.append(job);
    this.mark.committed();
    return results;
  }

  protected page(conversation: string, query: PageQuery): Page {
    const state = this.state(conversation);
    const { from, to } = planPage(state, query);
    const range = this.fit(state.id, from, to, isForwards(query));
    const rows = this.all<MessageRow>('page', [state.id, range.from, range.to]);
    const messages = rows.map((row) => messageOf(row, state.epoch));
    return buildPage(state, query, messages, range.from > from || range.to < to);
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

  protected async probe(): Promise<void> {
    this.mark.check();
    // A small write may still fit where the next message does not.
    const { bavail, bsize } = await statfs(this.dataDir);
    if (bavail * bsize < MIN_FREE_BYTES) {
      throw new HistoryError('HISTORY_REFUSED', new Error('the disk is full'));
    }
    await this.writer.check();
  }

  get trimmedForSize(): number {
    return this.writer.trimmedForSize;
  }

  get bytes(): number | undefined {
    if (!this.isOpen) return undefined;
    const [row] = this.all<{ bytes: number }>('bytes', []);
    return row!.bytes;
  }

  protected tail(after: string | undefined, limit: number): Changes {
    const { logId } = this.file;
    // Another file counts from the beginning: a cursor of a lost file means nothing here.
    const [file, serial] = after?.split(':') ?? [];
    const since = file === logId ? Number(serial) : 0;
    type Former = { former: string | null; shared: number };
    type Row = MessageRow & Former & { serial: number; name: Text; epoch: string };
    const rows = this.all<Row>('changes', [since, this.lastChangeThatFits(since, limit), limit]);
    return {
      changes: rows.map((row) => ({
        conversation: decodeText(row.name),
        ...messageOf(row, row.epoch),
        ...(row.former !== null && { follows: { epoch: row.former, offset: row.shared } }),
      })),
      cursor: `${logId}:${rows.at(-1)?.serial ?? since}`,
    };
  }

  protected async end(): Promise<void> {
    await this.writer.close();
    this.mark.close();
    this.file.reader.close();
  }

  protected state(conversation: string): LogState & { id: number } {
    type Row = { id: number; epoch: string; offset: number; first: number; former: string | null; shared: number };
    const [row] = this.all<Row>('conversation', [encodeText(conversation)]);
    if (row) {
      const former = row.former === null ? [] : [{ epoch: row.former, offset: row.shared, kept: false }];
      return { ...row, former };
    }
    // Nothing is written for a reader.
    const [seed] = this.all<{ value: string }>('seed', []);
    return { id: 0, epoch: epochFrom(seed!.value, conversation), offset: 0, first: 1, former: [] };
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

function messageOf(row: MessageRow, epoch: string): StoredMessage {
  return { from: decodeText(row.sender), text: decodeText(row.text), at: row.at, epoch, offset: row.offset };
}
