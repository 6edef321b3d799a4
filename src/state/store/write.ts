import { randomBytes } from 'node:crypto';
import type { Entry } from '../entries.js';
import { aboutOf, encodeMeta } from './fields.js';
import type { WritingStore } from './hosts.js';

/** A name for a new life of a room in Redis. */
export function lifeName(): string {
  return randomBytes(6).toString('base64url');
}

/** Writes changes to Redis. Older ones than it has change nothing. */
export async function writeChanges(store: WritingStore, changes: readonly Entry[]): Promise<void> {
  const { room, workers } = store;
  const { keys, settings } = room;
  const args: (string | number | Buffer)[] = [
    keys.room,
    keys.deleted,
    lifeName(),
    workers.complete(),
    settings.maxKeys,
  ];
  let bytes = 0;
  for (const change of changes) {
    const { key, clock, origin, value } = change;
    args.push(key, clock, origin, encodeMeta(change), markedValue(value));
    bytes += change.bytes;
  }
  const [late, ...about] = await store.run(bytes, (client) => client.gjallarStateWrite(2, ...args));
  store.noteAbout(aboutOf(about));
  store.countWritten(changes.length);
  // This worker may lack deletions that Redis has forgotten. It will have them soon.
  if (late > 0) store.syncLater();
}

/** An x before a value tells the empty one from none. */
function markedValue(value: Entry['value']): string | Buffer {
  if (value === undefined) return '';
  return typeof value === 'string' ? `x${value}` : Buffer.concat([MARK, value]);
}

const MARK = Buffer.from('x');
