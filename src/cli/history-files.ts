import { resolve } from 'node:path';
import { GjallarError } from '../base/errors.js';
import { requirePackages } from '../base/optional-packages.js';
import type { Config } from '../host/config/options.js';
import type { Command } from './commands.js';

/** `gjallar backup FILE` */
export const backup: Command = {
  usage: 'FILE',
  description: 'Saves the history in DATA_DIR as FILE, of one moment. The server may be running.',
  async run(args, config) {
    const file = fileIn(args, 'backup');
    requireSqlite(config, 'To back up Redis, save its append-only file or its snapshot (SAVE, BGSAVE).');
    const { backUpHistory } = await openCopies();
    const { messages, conversations } = backUpHistory(resolve(config.dataDir), file);
    console.log(`saved ${messages} messages of ${conversations} conversations in ${file}`);
    return 0;
  },
};

/** `gjallar restore FILE` */
export const restore: Command = {
  usage: 'FILE',
  description: 'Replaces the history in DATA_DIR by the backup FILE. The server must be stopped.',
  async run(args, config) {
    const file = fileIn(args, 'restore');
    requireSqlite(config, 'To restore Redis, start it with the saved append-only file or snapshot.');
    const { restoreHistory } = await openCopies();
    const { messages, conversations } = restoreHistory(file, resolve(config.dataDir));
    console.log(`restored ${messages} messages of ${conversations} conversations to ${resolve(config.dataDir)}`);
    return 0;
  },
};

/** The file that is the only argument. @throws GjallarError BAD_CONFIG */
function fileIn(args: readonly string[], command: string): string {
  const [file, ...more] = args;
  if (!file || file.startsWith('-') || more.length > 0) {
    throw new GjallarError('BAD_CONFIG', `usage: gjallar ${command} FILE`);
  }
  return file;
}

/** @throws GjallarError BAD_CONFIG if the history is in Redis, or off */
function requireSqlite({ historyStore, redisUrl, historyTtl }: Config, remedy: string): void {
  if (historyTtl === 0) throw new GjallarError('BAD_CONFIG', 'there is no history, because HISTORY_TTL is 0');
  if (historyStore === 'redis' || (historyStore === 'auto' && redisUrl)) {
    throw new GjallarError('BAD_CONFIG', `the history is in Redis, not in DATA_DIR. ${remedy}`);
  }
}

/** What copies the files of SQLite. @throws GjallarError BAD_CONFIG if libsql is not installed */
function openCopies(): Promise<typeof import('../features/history/sqlite/copy.js')> {
  requirePackages('the history in SQLite', ['libsql']);
  return import('../features/history/sqlite/copy.js');
}
