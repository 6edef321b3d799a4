import { expect, test } from '@jest/globals';
import { Machine, startMember } from '../../../io/rooms/support/node.js';
import { nextEvent } from '../../../support/clients.js';
import { atEnd } from '../../../support/ends.js';
import { until } from '../../../support/until.js';

test('what waits for the answer of a worker ends with its death', async () => {
  const machine = await Machine.start();
  const member = await startMember(await machine.openBackplane());
  const other = await startMember(await machine.openBackplane());
  atEnd(
    () => other.close(),
    () => member.close(),
    () => machine.remove(),
  );
  await until(async () => (await member.io.of('/').adapter.serverCount()) === 2);
  // It never answers, so that a question waits for as long as this worker lives.
  const asked = nextEvent(other.io, 'question');
  const answers = new Promise((resolve) => {
    member.io.serverSideEmit('question', (error: Error | null, values: unknown[]) => resolve([error, values]));
  });
  await asked;
  (other.io.of('/').adapter as unknown as { receiveMessage(): void }).receiveMessage = () => {};
  const sockets = member.io.fetchSockets();
  other.bus.close();
  // Both would be errors if the time limit of 5 s had ended them.
  expect(await answers).toEqual([null, []]);
  expect(await sockets).toEqual([]);
  expect(await member.io.of('/').adapter.serverCount()).toBe(1);
});
