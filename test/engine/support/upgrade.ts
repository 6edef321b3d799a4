import { expect } from '@jest/globals';
import type { Session } from '../../../src/engine/session/session.js';
import { eventOf } from './engine.js';
import { openWebSocket, type RawPolling, type RawWebSocket } from './raw.js';

/** Upgrades a session on polling to a WebSocket at this URL, which may be another worker's. */
export async function upgradeAt(url: string, polling: RawPolling, session: Session): Promise<RawWebSocket> {
  const client = openWebSocket(`${url}&sid=${polling.sid}`);
  expect(await client.status).toBe(101);
  const poll = polling.poll();
  client.send('2probe');
  expect(await client.next()).toBe('3probe');
  await poll;
  const upgraded = eventOf(session, 'upgrade');
  client.send('5');
  await upgraded;
  return client;
}
