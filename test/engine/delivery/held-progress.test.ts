import { afterEach, expect, test } from '@jest/globals';
import { closeEngines, eventOf, startEngine } from '../support/engine.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

/** A session whose messages the outbox holds until the present turn is over. */
async function startHeld() {
  // A ping would report progress, too.
  const { engine, url, nextSession } = await startEngine({ pingInterval: 600_000 });
  const opened = nextSession();
  const client = openWebSocket(url);
  const session = await opened;
  await client.next();
  return { client, session, hold: () => engine.outbox.publish('nobody', 'x', false, false) };
}

test('a sender that waits for "drain" goes on once the outbox has sent what it held', async () => {
  const { client, session, hold } = await startHeld();
  for (let round = 0; round < 2; round++) {
    hold();
    session.send('x'.repeat(1000));
    expect(session.bufferedAmount).toBeGreaterThan(1000);
    await eventOf(session, 'drain');
    expect(session.bufferedAmount).toBe(0);
    expect(await client.next()).toHaveLength(1001);
  }
});

test('a listener that stays hears of it, too', async () => {
  const { session, hold } = await startHeld();
  let waiting = Number.POSITIVE_INFINITY;
  const drained = new Promise<void>((resolve) => {
    session.on('drain', () => {
      waiting = session.bufferedAmount;
      if (waiting === 0) resolve();
    });
  });
  hold();
  session.send('x'.repeat(1000));
  session.send('x'.repeat(1000));
  expect(waiting).toBeGreaterThan(1000);
  await drained;
});
