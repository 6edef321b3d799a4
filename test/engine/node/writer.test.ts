import { expect, test } from '@jest/globals';
import { OutgoingMessage } from '../../../src/engine/node/topics.js';
import type { NodeWebSocket } from '../../../src/engine/node/web-socket.js';
import { type Batch, Writer } from '../../../src/engine/node/writer.js';

/** What a WebSocket of the writer is to it. */
class Written {
  readonly bytes: Buffer[] = [];
  readonly socket = { write: (bytes: Buffer) => this.bytes.push(bytes), writableLength: 0, writableCorked: 0 };
  batch: Batch | undefined = undefined;

  take(): Batch | undefined {
    const { batch } = this;
    this.batch = undefined;
    return batch;
  }
}

/** Sends the texts to one client, and lets the turn end. */
async function send(writer: Writer, texts: readonly Uint8Array[]): Promise<Buffer[]> {
  const client = new Written();
  for (const text of texts) {
    const frame = OutgoingMessage.of(text, false, false).frameFor(false);
    client.batch = client.batch?.with(frame) ?? writer.begin(client as unknown as NodeWebSocket, frame);
  }
  await Promise.resolve();
  return client.bytes;
}

test('long texts that one client after another is sent are joined once', async () => {
  const writer = new Writer();
  const texts = ['a', 'b', 'c'].map((character) => Buffer.from(character.repeat(10_000)));
  const [first] = await send(writer, texts);
  expect(first!.length).toBe(3 * 10_004);
  expect(first!.subarray(10_004 + 4, 2 * 10_004).equals(texts[1]!)).toBe(true);
  expect(await send(writer, texts)).toEqual([first]);
  expect((await send(writer, texts))[0]).toBe(first);
  // Others, in another order, are other bytes.
  const [other] = await send(writer, [texts[1]!, texts[0]!]);
  expect(other!.subarray(4, 10_004).equals(texts[1]!)).toBe(true);
});
