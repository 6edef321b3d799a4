import { expect, test } from '@jest/globals';
import type { GjallarError } from '../../../src/base/errors.js';
import { AdminGuard, MAX_WRONG } from '../../../src/io/http/guard.js';
import { sendFailure } from '../../../src/io/http/json.js';
import { TestClock } from '../../engine/support/clock.js';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

function start() {
  const clock = new TestClock();
  const lines: unknown[] = [];
  const log = { warn: (fields: object, message: string) => lines.push([fields, message]) };
  const guard = new AdminGuard({ user: 'ops', password: 'right' }, log, clock);
  const request = (password: string | undefined, address = '192.0.2.1') =>
    guard.require({
      headers: { authorization: password === undefined ? undefined : basic(`ops:${password}`) },
      address,
    });
  const ask = (...what: Parameters<typeof request>) =>
    request(...what).then(
      () => 'ok',
      ({ code }: GjallarError) => code,
    );
  return { clock, lines, ask, request };
}

test('a wrong password is answered after a second, and logged at level warn', async () => {
  const { clock, lines, ask } = start();
  let answer: string | undefined;
  const asked = ask('wrong').then((code) => {
    answer = code;
  });
  expect(await ask('right')).toBe('ok');
  expect(answer).toBeUndefined();
  clock.advance(999);
  expect(await ask('right')).toBe('ok');
  expect(answer).toBeUndefined();
  clock.advance(1);
  await asked;
  expect(answer).toBe('ADMIN_ONLY');
  expect(lines).toEqual([[{ address: '192.0.2.1', count: 1 }, 'wrong password for ADMIN_USER']]);
});

test('after ten wrong passwords of an address, none of it is checked until it may try again', async () => {
  const { clock, lines, ask } = start();
  const wrong = Array.from({ length: MAX_WRONG }, () => ask('wrong'));
  expect(await ask('right')).toBe('RATE_LIMITED');
  expect(await ask('wrong')).toBe('RATE_LIMITED');
  expect(await ask('right', '192.0.2.2')).toBe('ok');
  clock.advance(1000);
  expect(new Set(await Promise.all(wrong))).toEqual(new Set(['ADMIN_ONLY']));
  clock.advance(6000);
  expect(await ask('right')).toBe('ok');
  // One line for all of them within ten seconds.
  expect(lines).toHaveLength(1);
  clock.advance(10_000);
  void ask('wrong');
  expect(lines[1]).toEqual([{ address: '192.0.2.1', count: MAX_WRONG }, 'wrong password for ADMIN_USER']);
});

test('the response to too many of them says when to try again', async () => {
  const { ask, request } = start();
  for (let count = 0; count < MAX_WRONG; count++) void ask('wrong');
  const error = (await request('right').catch((reason: unknown) => reason)) as GjallarError;
  let response: unknown;
  const send = (status: number, headers?: object) => {
    response = { status, headers };
  };
  sendFailure({ send }, {}, error);
  expect(response).toEqual({ status: 429, headers: { 'Content-Type': 'application/json', 'Retry-After': '60' } });
});

test('a request without a password is asked for it at once, and is no guess', async () => {
  const { lines, ask } = start();
  for (let count = 0; count < 3 * MAX_WRONG; count++) expect(await ask(undefined)).toBe('ADMIN_ONLY');
  expect(await ask('right')).toBe('ok');
  expect(lines).toEqual([]);
});
