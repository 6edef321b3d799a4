import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { closeConnections, RawConnection } from '../../engine/support/tcp.js';
import { type MovableClock, movableClock } from '../../support/clock.js';
import { sumOf } from '../../support/metrics.js';
import { type ServiceHere, startServiceHere } from '../../support/service-here.js';
import { until } from '../../support/until.js';
import { StateApi } from './support/states.js';

/** What requests for state rooms cost, and whom. */

const { sign } = createRequire(import.meta.url)('jsonwebtoken') as { sign(claims: object, secret: string): string };
const API_KEY = 'a-key-of-the-test';
const JWT_SECRET = 'a secret of more than thirty-two bytes';
const token = (sub: string) => sign({ sub }, JWT_SECRET);

let clock: MovableClock;
let server: ServiceHere;
beforeAll(async () => {
  server = await startServiceHere({
    API_KEY,
    JWT_SECRET,
    STATE_MAX_ROOMS: '5',
    STATE_MAX_ROOMS_PER_USER: '2',
    STATE_MAX_PATCH_BYTES: '2000',
    RATE_LIMIT: 'events=2000/s,bytes=2000000/20s',
    MAX_BUFFERED: '40000000',
  });
  clock = movableClock();
});
afterEach(closeConnections);
afterAll(() => server.stop());

const operator = () => new StateApi(server.url, API_KEY);
const user = (name: string) => new StateApi(server.url, token(name));

describe('PATCH', () => {
  test('changes values up to its bound, and PUT all others', async () => {
    const api = operator();
    const room = 'patched';
    expect(await api.put(room, 'small', { text: 'x'.repeat(1900) })).toMatchObject({ ok: true });
    expect(await api.patch(room, 'small', { more: 1 })).toMatchObject({ ok: true });
    const beyond = { ok: false, code: 'STATE_PATCH_SIZE', message: expect.stringContaining('2000 bytes') };
    // It would be too large afterwards.
    expect(await api.patch(room, 'small', { other: 'x'.repeat(100) })).toEqual(beyond);
    // It is too large before, whatever is changed.
    const large = { text: 'x'.repeat(2100) };
    expect(await api.put(room, 'large', large)).toMatchObject({ ok: true });
    expect(await api.patch(room, 'large', { text: '' })).toEqual(beyond);
    const { changes } = await api.get(room);
    expect(Object.fromEntries(changes as [])).toEqual({ small: { text: 'x'.repeat(1900), more: 1 }, large });
    expect(await api.put(room, 'large', { text: '' })).toMatchObject({ ok: true });
    expect(await api.patch(room, 'large', { text: 'y' })).toMatchObject({ ok: true });
    await api.remove(room);
  });
});

describe('a user', () => {
  test('may create a share of the state rooms, and the others remain for the rest', async () => {
    const [ada, bob] = [user('ada'), user('bob')];
    expect(await ada.put('a1', 'k', 1)).toMatchObject({ ok: true });
    expect(await ada.put('a2', 'k', 1)).toMatchObject({ ok: true });
    const refused = { ok: false, code: 'STATE_FULL', message: expect.stringContaining('STATE_MAX_ROOMS_PER_USER') };
    expect(await ada.put('a3', 'k', 1)).toEqual(refused);
    // Keys of rooms that are there already, of others too, are no new rooms.
    expect(await ada.put('a1', 'other', 1)).toMatchObject({ ok: true });
    expect(await bob.put('b1', 'k', 1)).toMatchObject({ ok: true });
    expect(await ada.put('b1', 'of ada', 1)).toMatchObject({ ok: true });
    expect(await operator().put('o1', 'k', 1)).toMatchObject({ ok: true });
    expect(await operator().put('o2', 'k', 1)).toMatchObject({ ok: true });
    expect(await bob.put('b2', 'k', 1)).toMatchObject({
      code: 'STATE_FULL',
      message: expect.stringContaining('(STATE_MAX_ROOMS)'),
    });
    // What is removed counts no more.
    expect(await ada.remove('a2')).toMatchObject({ deleted: true });
    await until(async () => (await ada.put('a3', 'k', 1)).ok === true);
    for (const room of ['a1', 'a3', 'b1', 'o1', 'o2']) await operator().remove(room);
  });

  test('is charged for what short requests read and write, and others are not', async () => {
    const eve = user('eve');
    await operator().put('costly', 'k', 'x'.repeat(900_000));
    // Three reads of 0.9 MB exceed 2 MB: the fourth one would have to wait for several seconds.
    for (let count = 0; count < 3; count++) expect((await eve.get('costly')).ok).toBe(true);
    const order: string[] = [];
    const note = (name: string) => (answer: { ok?: unknown; code?: unknown }) =>
      void order.push(`${name} ${answer.ok === true ? 'ok' : answer.code}`);
    const waiting = eve.put('costly', 'eve', 1).then(note('eve'));
    await user('frida').put('costly', 'frida', 1).then(note('frida'));
    await operator().put('costly', 'operator', 1).then(note('operator'));
    expect(order).toEqual(['frida ok', 'operator ok']);
    await clock.settled(waiting);
    expect(order).toEqual(['frida ok', 'operator ok', 'eve ok']);
    // Eight may wait.
    for (let count = 0; count < 3; count++) await clock.settled(eve.get('costly'));
    const codes: unknown[] = [];
    const answers = Promise.all(
      Array.from({ length: 40 }, async () => codes.push((await eve.put('costly', 'eve', 2)).code)),
    );
    await until(() => codes.includes('RATE_LIMITED'));
    await clock.settled(answers);
    await operator().remove('costly');
  });
});

test('readers of a state room that do not read are within MAX_BUFFERED', async () => {
  const api = operator();
  for (let key = 0; key < 20; key++) await api.put('unread', `${key}`, 'x'.repeat(400_000));
  const get = `GET /api/state/unread HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${API_KEY}\r\n\r\n`;
  const closedSoFar = () => sumOf([server.url], 'gjallar_buffered_closed_total');
  const closed = await closedSoFar();
  const readers = await Promise.all(Array.from({ length: 150 }, () => RawConnection.to(server.port, false)));
  for (const reader of readers) reader.write(get);
  await until(async () => (await closedSoFar()) > closed);
  expect(await sumOf([server.url], 'gjallar_buffered_bytes')).toBeLessThan(40_000_000);
  await api.remove('unread');
}, 60_000);
