import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Outbox } from '../../../src/engine/delivery/outbox.js';
import type { WebSocketConnection } from '../../../src/engine/http/exchange.js';
import { Entries } from '../../../src/features/state/entries.js';
import type { StateFormat, StateReader } from '../../../src/features/state/members/format.js';
import { Member, Members } from '../../../src/features/state/members/members.js';
import { TestClock } from '../../engine/support/clock.js';

const MB = 1_000_000;
/** A member that reads nothing. */
class Reader implements StateReader {
  readonly topicSocket = undefined;
  written = 0;
  private readonly webSocket = {
    send: (message: string) => {
      this.written += message.length;
    },
    cork: (work: () => void) => work(),
  } as unknown as WebSocketConnection;

  constructor(private readonly outbox: Outbox) {}

  get bufferedAmount(): number {
    return this.written + this.outbox.heldFor(this.webSocket);
  }

  send(messages: readonly (string | Uint8Array)[]): void {
    for (const message of messages) this.outbox.send(this.webSocket, message, false, false);
  }
}

test.each([
  ['a large value', 1],
  // The time of a turn is over after the first member.
  ['a large value that takes long to encode', 5],
])('%s for many members is not held for all of them at once, while other messages are held', async (_name, times) => {
  const format: StateFormat = {
    name: 'test',
    prefix: '',
    encode: ({ entries }) => {
      let text = '';
      for (let time = 0; time < times; time++) text = JSON.stringify(entries.map(({ value }) => value));
      return text === '' ? [] : [entries.map(({ value }) => value as string).join()];
    },
  };
  const clock = new TestClock();
  const outbox = new Outbox({ publish: () => true, numSubscribers: () => 0 }, 25, clock);
  const entries = new Entries(10);
  entries.put({ key: 'k', value: 'x'.repeat(MB), clock: 1, origin: 'a' }, 1);
  const members = new Members({
    ...{ entries, outbox, published: entries.seq, compressFrom: undefined },
    ...{ versionAt: () => 'v', topicOf: () => 't' },
  });
  const readers = Array.from({ length: 30 }, () => new Reader(outbox));
  const written = () => readers.reduce((sum, reader) => sum + reader.written, 0);
  const hold = outbox.share(() => 0);
  hold();
  for (const reader of readers) members.add(new Member(reader, format, 0));
  let largest = 0;
  while (written() < 30 * MB) {
    for (let turns = 0; turns < 10; turns++) await turn();
    const before = written();
    outbox.flush();
    hold();
    largest = Math.max(largest, written() - before);
  }
  members.clear();
  expect(largest).toBeLessThan(10 * MB);
});
