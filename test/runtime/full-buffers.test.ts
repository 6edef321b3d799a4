import { expect, test } from '@jest/globals';
import type { Logger } from 'pino';
import { type HeldBytes, Holder } from '../../src/engine/delivery/held-bytes.js';
import { Engine } from '../../src/engine/engine.js';
import { Warnings } from '../../src/operations/warnings.js';
import { reportBuffers } from '../../src/runtime/engine-events.js';

class HeldInput extends Holder {
  static hold(all: HeldBytes, bytes: number): void {
    new HeldInput(all).hold(bytes);
  }

  onOverflow(): void {
    this.letGo();
  }
}

test('a full buffer is a warning, and one line in the log however often it is full', () => {
  const lines: object[] = [];
  const log = { warn: (fields: object, message: string) => lines.push({ ...fields, message }) } as unknown as Logger;
  const warnings = new Warnings();
  const engine = new Engine({ maxBuffered: 1_000_000 });
  reportBuffers(engine, warnings, log);
  for (let times = 0; times < 100; times++) HeldInput.hold(engine.incoming, 400_000);
  expect(engine.bufferBudget.closedIncoming).toBeGreaterThan(30);
  const message = expect.stringContaining('too many bytes waited for and from clients (MAX_BUFFERED)');
  expect(lines).toEqual([{ clients: 2, bytes: 1_200_000, message }]);
  expect(warnings.list).toEqual([message]);
  engine.close();
});
