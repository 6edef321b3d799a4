import { expect, test } from '@jest/globals';
import { type HeldBytes, Holder } from '../../../src/engine/delivery/held-bytes.js';
import { Engine } from '../../../src/engine/engine.js';
import { reportEngine } from '../../../src/host/runtime/engine-events.js';
import { Reported } from '../../support/reports.js';

class HeldInput extends Holder {
  static hold(all: HeldBytes, bytes: number): void {
    new HeldInput(all).hold(bytes);
  }

  onOverflow(): void {
    this.letGo();
  }
}

test('a full buffer is a warning, and one line in the log however often it is full', () => {
  const reported = Reported.here();
  const engine = new Engine({ maxBuffered: 1_000_000 });
  reportEngine(engine);
  for (let times = 0; times < 100; times++) HeldInput.hold(engine.incoming, 400_000);
  expect(engine.bufferBudget.closedIncoming).toBeGreaterThan(30);
  const message = expect.stringContaining('too many bytes waited for and from clients (MAX_BUFFERED)');
  expect(reported.lines).toEqual([['warn', { code: 'BUFFERS_FULL', clients: 2, bytes: 1_200_000 }, message]]);
  expect(reported.problems.warnings).toMatchObject([{ code: 'BUFFERS_FULL', text: message }]);
  expect(reported.down).toEqual([]);
  engine.close();
});
