import type { StoredMessage } from '../store.js';

/**
 * Puts the erased messages of a range, both ends included, between those that were found in it. A stream entry cannot be
 * changed, so an erased message has none: it is a gap.
 */
export function withErased(found: readonly StoredMessage[], epoch: string, from: number, to: number): StoredMessage[] {
  const messages: StoredMessage[] = [];
  const fillTo = (end: number) => {
    for (let offset = from + messages.length; offset < end; offset++) {
      messages.push({ from: '', text: '', at: 0, epoch, offset });
    }
  };
  for (const message of found) {
    fillTo(message.offset);
    messages.push(message);
  }
  fillTo(to + 1);
  return messages;
}
