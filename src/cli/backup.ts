import { resolve } from 'node:path';
import type { Command } from './command.js';
import { fileIn, openCopies, requireSqlite } from './history-file.js';

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
