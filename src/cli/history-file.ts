import { requirePackages } from '../compat/optional-packages.js';
import type { Config } from '../config/options.js';
import { GjallarError } from '../errors.js';

/** The file that is the only argument. @throws GjallarError BAD_CONFIG */
export function fileIn(args: readonly string[], command: string): string {
  const [file, ...more] = args;
  if (!file || file.startsWith('-') || more.length > 0) {
    throw new GjallarError('BAD_CONFIG', `usage: gjallar ${command} FILE`);
  }
  return file;
}

/** @throws GjallarError BAD_CONFIG if the history is in Redis, or off */
export function requireSqlite({ historyStore, redisUrl, historyTtl }: Config, remedy: string): void {
  if (historyTtl === 0) throw new GjallarError('BAD_CONFIG', 'there is no history, because HISTORY_TTL is 0');
  if (historyStore === 'redis' || (historyStore === 'auto' && redisUrl)) {
    throw new GjallarError('BAD_CONFIG', `the history is in Redis, not in DATA_DIR. ${remedy}`);
  }
}

/** What copies the files of SQLite. @throws GjallarError BAD_CONFIG if libsql is not installed */
export function openCopies(): Promise<typeof import('../history/sqlite/copy.js')> {
  requirePackages('the history in SQLite', ['libsql']);
  return import('../history/sqlite/copy.js');
}
