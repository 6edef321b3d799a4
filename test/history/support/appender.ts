/**
 * A process that appends to one conversation, several appends at a time, and writes a line for each one that the store
 * has acknowledged. Arguments: the store's options as JSON, the conversation, an author, how many messages.
 */
import { RedisHistoryStore } from '../../../src/history/redis/store.js';
import { SqliteHistoryStore } from '../../../src/history/sqlite/store.js';

const [options, conversation, from, count] = process.argv.slice(2) as [string, string, string, string];
const { redis, dataDir } = JSON.parse(options) as { redis?: string; dataDir?: string };
const store = redis ? await RedisHistoryStore.open({ redis }) : await SqliteHistoryStore.open({ dataDir: dataDir! });

let next = 0;
async function appendSome(): Promise<void> {
  while (next < Number(count)) {
    const text = String(next++);
    const [position] = await store.append(conversation, [{ from, text, at: Date.now() }]);
    process.stdout.write(`${JSON.stringify({ from, text, ...position })}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, appendSome));
await store.close();
