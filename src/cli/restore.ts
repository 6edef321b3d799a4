import { resolve } from 'node:path';
import type { Command } from './command.js';
import { fileIn, openCopies, requireSqlite } from './history-file.js';

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
