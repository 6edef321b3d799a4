import { afterEach, expect, test } from '@jest/globals';
import { MAX_UNUSED, UnusedSessions } from '../../../src/engine/session/unused-sessions.js';
import { TestClock } from '../support/clock.js';
import { closeEngines, startEngine } from '../support/engine.js';
import { openPolling } from '../support/raw.js';

afterEach(closeEngines);

test('a session ends ten seconds after its handshake, unless its client has sent a request', async () => {
  const clock = new TestClock();
  const { engine, url } = await startEngine({}, { clock });
  const unused = await openPolling(url);
  const used = await openPolling(url);
  expect(await used.post('4hello')).toEqual([200, 'ok']);
  clock.advance(9_500);
  expect(engine.has(unused.sid)).toBe(true);
  clock.advance(1_500);
  expect(engine.has(unused.sid)).toBe(false);
  expect(engine.has(used.sid)).toBe(true);
  const [status] = await unused.poll();
  expect(status).toBe(400);
});

test('beyond the maximum, the oldest sessions end', () => {
  const ended: string[] = [];
  const sessions = new UnusedSessions(new TestClock());
  const add = (id: string) => sessions.add({ id, onUnused: () => ended.push(id) });
  for (let n = 0; n < MAX_UNUSED; n++) add(`${n}`);
  sessions.remove('1');
  add('new');
  expect(ended).toEqual([]);
  add('newer');
  add('newest');
  expect(ended).toEqual(['0', '2']);
  expect(sessions.size).toBe(MAX_UNUSED);
  sessions.close();
});

test('no timer runs once no session is unused', () => {
  const clock = new TestClock();
  const sessions = new UnusedSessions(clock);
  sessions.add({ id: 'a', onUnused: () => {} });
  sessions.remove('a');
  clock.advance(1000);
  expect(clock.running).toBe(0);
});
