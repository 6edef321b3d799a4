import type { StoredMessage } from '../store.js';

export type StreamEntry = [id: string, fields: string[]];

export function messageOf([id, [, from, , text, , at]]: StreamEntry, epoch: string): StoredMessage {
  return { from: from!, text: text!, at: Number(at), epoch, offset: Number.parseInt(id, 10) };
}
