/**
 * A process that appends to one conversation, several appends at a time, and writes a line for each one that the store
 * has acknowledged. Arguments: the store's options as JSON, the conversation, an author, how many messages.
 */
import { RedisHistoryStore, SqliteHistoryStore } from '../../../../dist/features/history/index.js';

const [options, conversation, from, count] = process.argv.slice(2);
const { redis, dataDir } = JSON.parse(options);
const store = redis ? await RedisHistoryStore.open({ redis }) : await SqliteHistoryStore.open({ dataDir });

let next = 0;
async function appendSome() {
  while (next < Number(count)) {
    const text = String(next++);
    const [position] = await store.append(conversation, [{ from, text, at: Date.now() }]);
    process.stdout.write(`${JSON.stringify({ from, text, ...position })}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, appendSome));
await store.close();
