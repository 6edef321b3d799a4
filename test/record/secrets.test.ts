import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isSecretName, Secrets } from '../../src/record/secrets.js';

const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg';

describe('names of secrets', () => {
  test.each([
    ...[
      'password',
      'passWord',
      'user_password',
      'X-Api-Key',
      'apiKey',
      'API KEY',
      'access_token',
      'accessToken',
      'pwd',
    ],
    ...[
      'Authorization',
      'auth',
      'authToken',
      'cookie',
      'Set-Cookie',
      'sessionId',
      'connect.sid.session',
      'sid',
      'client_secret',
    ],
    ...[
      'private-key',
      'credentials',
      'jwt',
      'id_token',
      'refreshToken',
      'otp',
      'pin',
      'cvv',
      'card_number',
      'csrfToken',
      '_csrf',
    ],
    ...[
      'passphrase',
      'signature',
      'code',
      'state',
      'login',
      'p%61ssword',
      'p%2561ssword',
      'ｐａｓｓｗｏｒｄ',
      'pass.word',
    ],
  ])('%s is one', (name) => expect(isSecretName(name)).toBe(true));

  test.each([
    'author',
    'authors',
    'room',
    'text',
    'name',
    'message',
    'passenger',
    'shipping',
    'compass',
    'keyboard',
    'monkey',
  ])('%s is none', (name) => expect(isSecretName(name)).toBe(false));
});

/** Each value has the secret `hunter2`, or what begins like one, in a form in which clients send it. */
const hidden: [string, string, unknown[]][] = [
  ['a field', 'say', [{ password: 'hunter2' }]],
  ['a field far below', 'say', [{ a: [{ b: { 'X-Api-Key': 'hunter2' } }] }]],
  ['a field whose value is an object', 'say', [{ credentials: { a: 'hunter2', b: ['hunter2'] } }]],
  ['a number', 'say', [{ pin: 2715 }]],
  ['the event', 'login', ['anna', 'hunter2']],
  ['an event with the name within', 'user:set-password', [{ value: 'hunter2' }]],
  ['a name before its value', 'set', ['password', 'hunter2']],
  ['a name before its value in a list', 'set', [['token', 'hunter2']]],
  ['a name and its value in fields', 'set', [{ name: 'password', value: 'hunter2' }]],
  ['JSON in a text', 'say', ['{"password":"hunter2"}']],
  ['JSON in JSON in a text', 'say', [JSON.stringify(JSON.stringify({ password: 'hunter2' }))]],
  ['JSON that was cut off', 'say', ['{"user":"anna","password":"hunter2"']],
  ['a quote in a value', 'say', ['LOGIN {"user":"a","password":"ab\\"hunter2"}']],
  ['a quote in an escaped value', 'say', ['LOGIN "{\\"user\\":\\"a\\",\\"password\\":\\"ab\\\\\\"hunter2\\"}"']],
  ['a quote in a value that was cut off', 'say', ['LOGIN {"user":"a","password":"ab\\"hunter2']],
  ['escaped JSON', 'say', ['body={\\"password\\":\\"hunter2\\"}']],
  ['a query in a text', 'say', ['https://example.com/?a=1&access_token=hunter2&b=2']],
  ['the password of a URL', 'say', ['redis://anna:hunter2@example.com/']],
  ['an assignment', 'say', ['my password: hunter2']],
  ['a header', 'say', ['Authorization: Bearer hunter2']],
  ['a scheme alone', 'say', ['Bearer hunter2']],
  ['a header with several cookies', 'say', ['Cookie: theme=dark; a=hunter2']],
  ['a value with spaces', 'say', ['{"password":"correct horse hunter2"']],
  ['a value with signs', 'say', ['password=a=b:c;hunter2']],
  ['a value in an address in a parameter', 'say', ['https://example.com/?next=https://example.com/?token=hunter2']],
  ['a cookie', 'say', ['theme=dark; connect.sid=hunter2; a=b']],
  ['a private key', 'say', ['-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----']],
  ['a private key without its end', 'say', ['-----BEGIN RSA PRIVATE KEY-----\nhunter2']],
  ['a long key', 'say', ['sk_live_hunter2hunter2hunter2']],
  ['a field whose name is a key', 'say', [{ sk_live_hunter2hunter2hunter2: true }]],
  ['a text beyond the bound', 'say', [`${'a '.repeat(6000)}hunter2`]],
  ['a value beyond the depth', 'say', [JSON.parse(`${'['.repeat(40)}"hunter2"${']'.repeat(40)}`)]],
  ['bytes', 'say', [Buffer.from('hunter2')]],
  ['bytes in a field', 'say', [{ password: new Uint8Array(Buffer.from('hunter2')) }]],
  ['a field __proto__', 'say', [JSON.parse('{"__proto__":{"password":"hunter2"}}')]],
];

describe('secrets in arguments are removed', () => {
  test.each(hidden)('%s', (_name, event, args) => {
    const written = JSON.stringify(new Secrets().args(event, args));
    expect(written).not.toMatch(/hunter2|2715|aHVudGVyMg|104,117,110/);
  });

  test.each([
    ['alone', jwt],
    ['in a sentence', `my token is ${jwt}, thanks`],
    ['in a URL', `https://example.com/reset/${jwt}`],
    ['unsigned', `${jwt.split('.').slice(0, 2).join('.')}.`],
    ['encoded', encodeURIComponent(`{"a":"${jwt}"}`)],
    ['as a key', { [jwt]: 1 }],
  ])('JSON Web Tokens: %s', (_name, value) => {
    const written = JSON.stringify(new Secrets().args('say', [value]));
    for (const part of jwt.split('.')) expect(written).not.toContain(part);
  });

  test('wherever a secret field is, whatever else there is', () => {
    const secret = fc.integer({ min: 1e9, max: 9e9 }).map((number) => `s3cret${number}`);
    const name = fc.constantFrom('password', 'API_KEY', 'accessToken', 'session-id');
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 4 })), name, secret, fc.nat(), (others, key, value, at) => {
        const args = others.toSpliced(at % (others.length + 1), 0, { deep: [{ [key]: value }] } as never);
        expect(JSON.stringify(new Secrets().args('say', args))).not.toContain(value);
      }),
    );
  });
});

test('secrets in paths and parameters are removed', () => {
  const secrets = new Secrets();
  for (const path of [
    '/api?token=hunter2',
    '/api?a=1&api%5Fkey=hunter2',
    '/api?%74oken=hunter2',
    '/api?user[password]=hunter2',
    `/reset/${jwt}?x=1`,
    `/reset/${encodeURIComponent(jwt)}`,
    '/files/hunter2hunter2hunter2hunter2',
    '/api?q=%7B%22password%22%3A%22hunter2%22%7D',
    '/api?next=https%3A%2F%2Fexample.com%2F%3Ftoken%3Dhunter2',
  ]) {
    expect(secrets.path(path)).not.toMatch(/hunter2|c2lnbmF0dXJl/);
    expect(secrets.path(path)).toMatch(/^\/[!-~]+$/);
  }
  expect(secrets.query({ token: 'hunter2', room: 'a' })).toEqual({
    token: expect.stringMatching(/^removed-/),
    room: 'a',
  });
});

test('what is no secret stays as it is', () => {
  const args = ['hello, world', 3, true, null, { room: 'lobby', list: [1, { text: 'a: b = c' }] }, '', [], {}];
  const secrets = new Secrets();
  expect(secrets.args('say', args)).toEqual(args);
  expect(secrets.path('/rooms/lobby?limit=10&text=a%20b')).toBe('/rooms/lobby?limit=10&text=a%20b');
  expect(secrets.removed).toBe(0);
});

test('equal secrets stay equal in one recording, and differ in another one', () => {
  const key = 'c0ffee00-1234-5678-9abc-def012345678';
  const secrets = new Secrets();
  const [first, again] = secrets.args('join', [key, { room: key }]) as [string, { room: string }];
  expect(again.room).toBe(first);
  expect(new Secrets().args('join', [key])).not.toEqual([first]);
});

test('an answer keeps its form only', () => {
  expect(new Secrets().hide([{ ok: true, text: 'hunter2', list: [1, null] }])).toEqual([
    { ok: true, text: expect.stringMatching(/^removed-/), list: [expect.stringMatching(/^removed-/), null] },
  ]);
});

test('no text takes long', () => {
  const secrets = new Secrets();
  for (const text of [
    'a'.repeat(10_000),
    'a:'.repeat(5000),
    '%3'.repeat(3333),
    '"\\'.repeat(5000),
    'ey'.repeat(5000),
    '='.repeat(9999),
  ]) {
    secrets.text(text);
  }
});
