import { afterEach, describe, expect, test } from '@jest/globals';
import { hasInvisibleCharacters } from '../../../src/service/accounts/identity.js';
import { type ChatClient, connect, connected, disconnectAll, expectOk, nextEvent } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import type { RunningServer } from '../../support/server.js';
import { sharedServer } from '../../support/server.js';
import { sharedService, startServiceHere } from '../../support/service-here.js';
import { SECRET, tokenOf } from '../../support/tokens.js';
import { until } from '../../support/until.js';

type Claims = Record<string, unknown>;

async function enter({ url }: Pick<RunningServer, 'url'>, claims: Claims): Promise<ChatClient> {
  const client = connect(url, { auth: { token: await tokenOf(claims) }, transports: ['websocket'] });
  await connected(client);
  return client;
}

async function refusalOf(
  { url }: Pick<RunningServer, 'url'>,
  auth: object,
): Promise<{ code: string; message: string }> {
  const client = connect(url, { auth, transports: ['websocket'] });
  const [error] = await nextEvent<[Error & { data: { code: string; message: string } }]>(client, 'connect_error');
  return error.data;
}

const tokenRefusal = async (server: Pick<RunningServer, 'url'>, claims: Claims) =>
  refusalOf(server, { token: await tokenOf(claims) });

afterEach(disconnectAll);

describe('with JWT_SECRET', () => {
  const server = sharedService({ JWT_SECRET: SECRET, WORKERS: '1' });

  test('a display name gives no access to the direct messages of another user', async () => {
    const alice = await enter(server, { sub: 'Alice' });
    expectOk(await alice.emitWithAck('direct', { to: 'Bob', text: 'between us' }));
    const mallory = await enter(server, { sub: 'mallory', name: ' Alice\ufeff' });
    const twin = await enter(server, { sub: 'mallory2', name: 'Alice' });
    for (const client of [mallory, twin]) {
      for (const other of ['Alice', 'Bob']) {
        expect(expectOk(await client.emitWithAck('history', { with: other })).messages).toEqual([]);
      }
      const heard: unknown[] = [];
      client.on('direct', (message) => heard.push(message));
      expectOk(await alice.emitWithAck('direct', { to: 'Bob', text: 'between us' }));
      const fence = nextEvent(client, 'direct');
      expectOk(await alice.emitWithAck('direct', { to: client === twin ? 'mallory2' : 'mallory', text: 'hello' }));
      await fence;
      expect(heard).toMatchObject([{ from: 'Alice', text: 'hello' }]);
    }
  });

  test('who and presence carry display names, which a new token can change', async () => {
    const ann = await enter(server, { sub: 'ann', name: ' Ann Other ' });
    const presence = nextEvent(ann, 'presence');
    expectOk(await ann.emitWithAck('join', 'names'));
    for (const claims of [
      { sub: 'bob', name: 'Bob\u202e' },
      { sub: 'chen', name: 'chen' },
      { sub: 'dana', name: 7 },
    ]) {
      expectOk(await (await enter(server, claims)).emitWithAck('join', 'names'));
    }
    expect(await presence).toMatchObject([{ joined: expect.arrayContaining(['ann']), names: { ann: 'Ann Other' } }]);
    const users = async () => expectOk(await ann.emitWithAck('who', 'names'));
    await until(async () => (await users()).users.length === 4);
    const all = ['ann', 'bob', 'chen', 'dana'];
    expect(await users()).toEqual({ ok: true, room: 'names', members: 4, users: all, names: { ann: 'Ann Other' } });
    expectOk(await ann.emitWithAck('token', await tokenOf({ sub: 'ann', name: 'Ann Else' })));
    expect((await users()).names).toEqual({ ann: 'Ann Else' });
    expectOk(await ann.emitWithAck('message', { room: 'names', text: 'x' }));
    expect(expectOk(await ann.emitWithAck('history', { room: 'names' })).messages).toMatchObject([{ from: 'ann' }]);
  });

  test.each([
    ['no claim', { name: 'Alice' }],
    ['a number', { sub: 7, name: 'Alice' }],
    ['an object', { sub: {}, name: 'Alice' }],
  ])('%s in place of the identity is rejected, and the error names the claim and its option', async (_, claims) => {
    const { code, message } = await tokenRefusal(server, claims);
    expect(code).toBe('TOKEN_INVALID');
    expect(message).toMatch(/"sub".*JWT_USER_CLAIM/);
  });

  test.each([
    'Alice\ufeff',
    ' Alice',
    'Alice ',
    'Al\u200bice',
    'Al\u202eice',
    'Al  ice',
    'Alice\u0085',
    '',
    'x'.repeat(65),
  ])('the identity %j is rejected, not changed into another one', async (sub) => {
    const { code, message } = await tokenRefusal(server, { sub });
    expect(code).toBe('TOKEN_INVALID');
    expect(message).toMatch(/"sub" \(JWT_USER_CLAIM\)/);
  });

  test.each([
    [{ Join: ['hall'] }, '"Join"'],
    [{ join: ['hall'], publishes: [] }, '"publishes"'],
  ])('the rooms %j are rejected, and the error names the unknown key', async (rooms, key) => {
    const { code, message } = await tokenRefusal(server, { sub: 'ann', rooms });
    expect(code).toBe('TOKEN_INVALID');
    expect(message).toContain(`the unknown key ${key}`);
  });

  test('publishing over HTTP is limited to the rooms to join where no others are named', async () => {
    const publish = async (rooms: object, room: string) => {
      const headers = { Authorization: `Bearer ${await tokenOf({ sub: 'ann', rooms })}` };
      const url = `${server.url}/api/rooms/${room}/messages`;
      const response = await fetch(url, { method: 'POST', headers, body: '{"text":"x"}' });
      return ((await response.json()) as { code?: string }).code;
    };
    expect(await publish({ join: ['hall'] }, 'vault')).toBe('ROOM_FORBIDDEN');
    expect(await publish({ join: ['hall'], publish: ['vault'] }, 'vault')).toBeUndefined();
    expect(await publish({ join: [], publish: ['vault'] }, 'vault')).toBeUndefined();
    expect(await publish({ join: [] }, 'hall')).toBe('ROOM_FORBIDDEN');
    expect(await publish({ join: ['hall'], publish: ['yard'] }, 'hall')).toBe('ROOM_FORBIDDEN');
    expect(await publish({ join: ['hall'] }, 'hall')).toBeUndefined();
    expect(await publish({ publish: ['hall'] }, 'hall')).toBeUndefined();
  });
});

test('JWT_USER_CLAIM names the claim that identifies users', async () => {
  const claim = 'https://a.example/user';
  const server = await startServiceHere({ JWT_SECRET: SECRET, JWT_USER_CLAIM: claim, WORKERS: '1' });
  atEnd(disconnectAll, () => server.stop());
  const client = await enter(server, { [claim]: 'ann', sub: '1234' });
  expectOk(await client.emitWithAck('join', 'hall'));
  expect(expectOk(await client.emitWithAck('who', 'hall')).users).toEqual(['ann']);
  expect((await tokenRefusal(server, { sub: 'ann' })).message).toContain(`"${claim}"`);
});

describe('without tokens', () => {
  const server = sharedServer({ WORKERS: '1' });

  test('names are free, the start says so, and tokens are nothing', async () => {
    await server.logged(({ msg }) => /users choose their own names/.test(msg ?? ''));
    const client = connect(server.url, { auth: { name: 'ann' } });
    expect(await client.emitWithAck('token', 'x')).toMatchObject({ code: 'TOKENS_OFF' });
  });

  test.each([
    {
      what: 'invisible characters',
      rejected: ['Alice\ufeff', '\u200dAlice', 'Al\u2066ice', 'Al\u009dice'],
      ...{ told: 'invisible characters', given: ' Alice ', kept: 'Alice', room: 'hall', other: 'Bob\u200b' },
    },
    {
      what: 'several spaces in a row, which pages show as one,',
      rejected: ['Ann  Lee', 'Ann \u3000Lee', '山田\u3000\u3000太郎'],
      ...{ told: 'spaces in a row', given: '  Ann B. Lee  ', kept: 'Ann B. Lee', room: 'spaces', other: 'Ann  Lee' },
    },
  ])('names with $what are rejected', async ({ rejected, told, given, kept, room, other }) => {
    for (const name of rejected) {
      const { code, message } = await refusalOf(server, { name });
      expect([name, code]).toEqual([name, 'BAD_NAME']);
      expect(message).toContain(told);
    }
    const client = connect(server.url, { auth: { name: given } });
    await connected(client);
    expectOk(await client.emitWithAck('join', room));
    expect(expectOk(await client.emitWithAck('who', room)).users).toEqual([kept]);
    expect(await client.emitWithAck('direct', { to: other, text: 'x' })).toMatchObject({ code: 'BAD_NAME' });
  });
});

describe('invisible characters', () => {
  test.each(['Ann ❤\ufe0f', 'José', 'Jose\u0301', '张伟', '山田\u3000太郎', 'علی', 'Ann 👍🏽', '🇳🇴'])(
    '%s has none',
    (name) => {
      expect(hasInvisibleCharacters(name)).toBe(false);
    },
  );

  const invisible = [
    ...['\u00ad', '\u200b', '\u200c', '\u200d', '\u200e', '\u202a', '\u202e', '\u2060', '\u2066', '\u2069', '\ufeff'],
    ...[
      '\u00a0',
      '\u2003',
      '\u202f',
      '\u2800',
      '\u2028',
      '\u2029',
      '\u034f',
      '\u115f',
      '\u3164',
      '\ufe0f',
      '\u{e0061}',
      '\u{e0100}',
    ],
  ];
  test.each(invisible)('%j is one, wherever it is', (character) => {
    for (const name of [`${character}Ann`, `A${character}nn`, `Ann${character}`, `👍${character}`]) {
      expect(hasInvisibleCharacters(name)).toBe(true);
    }
  });
});
