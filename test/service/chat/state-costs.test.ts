import { createRequire } from 'node:module';
import { describe, expect, test } from '@jest/globals';
import { sharedService } from '../../support/service-here.js';
import { until } from '../../support/until.js';
import { StateApi } from './support/states.js';

/** What requests for state rooms cost, and whom. */

const { sign } = createRequire(import.meta.url)('jsonwebtoken') as { sign(claims: object, secret: string): string };
const API_KEY = 'a-key-of-the-test';
const JWT_SECRET = 'a secret of more than thirty-two bytes';
const token = (sub: string) => sign({ sub }, JWT_SECRET);

const server = sharedService({
  API_KEY,
  JWT_SECRET,
  STATE_ROOMS: 'patched,costly',
  RATE_LIMIT: 'events=2000/s,bytes=2000000/2s',
});

const operator = () => new StateApi(server.url, API_KEY);
const user = (name: string) => new StateApi(server.url, token(name));

describe('PATCH', () => {
  test('changes values up to its bound, and PUT all others', async () => {
    const api = operator();
    const room = 'patched';
    expect(await api.put(room, 'small', { text: 'x'.repeat(65_000) })).toMatchObject({ ok: true });
    expect(await api.patch(room, 'small', { more: 1 })).toMatchObject({ ok: true });
    const beyond = { ok: false, code: 'STATE_PATCH_SIZE', message: expect.stringContaining('65536 bytes') };
    // It would be too large afterwards.
    expect(await api.patch(room, 'small', { other: 'x'.repeat(1000) })).toEqual(beyond);
    // It is too large before, whatever is changed.
    const large = { text: 'x'.repeat(66_000) };
    expect(await api.put(room, 'large', large)).toMatchObject({ ok: true });
    expect(await api.patch(room, 'large', { text: '' })).toEqual(beyond);
    expect((await api.get(room, 'small')).value).toEqual({ text: 'x'.repeat(65_000), more: 1 });
    expect((await api.get(room, 'large')).value).toEqual(large);
    expect(await api.put(room, 'large', { text: '' })).toMatchObject({ ok: true });
    expect(await api.patch(room, 'large', { text: 'y' })).toMatchObject({ ok: true });
  });
});

/** Tells in which order requests were answered. */
function answers() {
  const order: string[] = [];
  const note = (name: string) => (answer: { ok?: unknown; code?: unknown }) =>
    void order.push(`${name} ${answer.ok === true ? 'ok' : answer.code}`);
  return { order, note };
}

describe('a user', () => {
  test('is charged for what short requests read and write, and others are not', async () => {
    const eve = user('eve');
    await operator().put('costly', 'k', 'x'.repeat(900_000));
    // Two reads of 0.9 MB, which is read and written, exceed 2 MB: the third one has to wait for more than a second.
    for (let count = 0; count < 2; count++) expect((await eve.get('costly', 'k')).ok).toBe(true);
    const { order, note } = answers();
    const waiting = eve.put('costly', 'eve', 1).then(note('eve'));
    await user('frida').put('costly', 'frida', 1).then(note('frida'));
    await operator().put('costly', 'operator', 1).then(note('operator'));
    expect(order).toEqual(['frida ok', 'operator ok']);
    await waiting;
    expect(order).toEqual(['frida ok', 'operator ok', 'eve ok']);
    // Eight may wait.
    for (let count = 0; count < 2; count++) await eve.get('costly', 'k');
    const codes: unknown[] = [];
    const all = Promise.all(
      Array.from({ length: 40 }, async () => codes.push((await eve.put('costly', 'eve', 2)).code)),
    );
    await until(() => codes.includes('RATE_LIMITED'));
    await all;
  });

  test('is charged for a value that it deletes', async () => {
    const dan = user('dan');
    await dan.put('costly', 'dan', 'x'.repeat(900_000));
    expect(await dan.delete('costly', 'dan')).toEqual({ ok: true, deleted: true });
    const { order, note } = answers();
    const waiting = dan.put('costly', 'dan', 1).then(note('dan'));
    await user('gina').put('costly', 'gina', 1).then(note('gina'));
    await waiting;
    expect(order).toEqual(['gina ok', 'dan ok']);
  });
});
