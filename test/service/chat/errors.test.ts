import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type ErrorCode, errorCodes } from '../../../src/base/errors.js';
import { handlers, MAX_ROOMS } from '../../../src/service/chat/handlers/index.js';
import type { ChatMessage } from '../../../src/service/chat/protocol.js';
import { type ChatClient, connect, connected, disconnectAll, expectOk, nextEvent } from '../../support/clients.js';
import { type ServiceHere as RunningServer, startServiceHere as startServer } from '../../support/service-here.js';

let server: RunningServer;
let client: ChatClient;

beforeAll(async () => {
  server = await startServer({ WORKERS: '1' });
  client = connect(server.url, { auth: { name: 'Astrid' } });
  await connected(client);
  expectOk(await client.emitWithAck('join', 'hall'));
});

afterEach(() => expect(client.connected).toBe(true));

afterAll(async () => {
  disconnectAll();
  await server.stop();
});

const badRooms = [
  '',
  'x'.repeat(129),
  'line\nbreak',
  'nul\0',
  'del\x7f',
  'next\x85line',
  7,
  null,
  true,
  {},
  ['hall'],
  Buffer.from('x'),
];
const badTexts = ['', 'x'.repeat(10_001), undefined, 7, null, {}, ['text'], Buffer.from('x')];
const badInputs = ['text', 7, null, true, ['hall', 'text']];

type Refused = [event: string, input: unknown, code: ErrorCode];

const refused: Refused[] = [
  ...['join', 'leave', 'who'].flatMap((event) => badRooms.map((room): Refused => [event, room, 'BAD_ROOM'])),
  ...badRooms.map((room): Refused => ['message', { room, text: 'x' }, 'BAD_ROOM']),
  ...badTexts.map((text): Refused => ['message', { room: 'hall', text }, 'BAD_TEXT']),
  ...badInputs.map((input): Refused => ['message', input, 'BAD_INPUT']),
  ['message', { room: 'another', text: 'x' }, 'NOT_IN_ROOM'],
];

/** Anything as any event: what a client may send, typed or not. */
function send(event: string, ...input: unknown[]): Promise<unknown> {
  const untyped = client as unknown as { emitWithAck(event: string, ...input: unknown[]): Promise<unknown> };
  return untyped.emitWithAck(event, ...input);
}

test.each(refused)('%s with %j is refused: %s', async (event, input, code) => {
  expect(await send(event, input)).toEqual({ ok: false, code, message: errorCodes[code].message });
});

test('history of a room and of a user at once is refused', async () => {
  const both = { room: 'hall', with: 'ann' };
  expect(await send('history', both)).toMatchObject({
    code: 'BAD_INPUT',
    message: expect.stringContaining('not both'),
  });
});

test.each([['join'], ['leave'], ['who'], ['message']])('%s without any input is refused', async (event) => {
  expect(await send(event)).toMatchObject({ ok: false, code: event === 'message' ? 'BAD_INPUT' : 'BAD_ROOM' });
});

test.each([...handlers.keys(), 'echo'])('%s with more than one input is refused: BAD_INPUT', async (event) => {
  const { message } = errorCodes.BAD_INPUT;
  for (const more of [['x'], [null], ['x', 'y']]) {
    expect(await send(event as string, 'yard', ...more)).toEqual({ ok: false, code: 'BAD_INPUT', message });
  }
  expect(await send('who', 'yard')).toMatchObject({ users: [] });
});

test('what is refused without an acknowledgement changes nothing, and the next event works', async () => {
  for (const [event, input] of refused) client.emit(event as 'echo', input);
  client.emit('nonsense' as 'echo', 'x');
  expect(await client.emitWithAck('echo', 'still here')).toBe('still here');
  expect(await client.emitWithAck('who', 'hall')).toMatchObject({ users: ['Astrid'] });
});

test(`TOO_MANY_ROOMS comes with room number ${MAX_ROOMS + 1}, and leaving one makes space`, async () => {
  const many = connect(server.url);
  for (let room = 0; room < MAX_ROOMS; room++) expectOk(await many.emitWithAck('join', `room ${room}`));
  const { message } = errorCodes.TOO_MANY_ROOMS;
  expect(await many.emitWithAck('join', 'one more')).toEqual({ ok: false, code: 'TOO_MANY_ROOMS', message });
  expectOk(await many.emitWithAck('join', 'room 0'));
  expectOk(await many.emitWithAck('leave', 'room 0'));
  expectOk(await many.emitWithAck('join', 'one more'));
});

describe('BAD_NAME', () => {
  test.each([[''], ['   '], ['x'.repeat(65)], ['line\nbreak'], [7], [null], [{}]])(
    'is why %j may not connect',
    async (name) => {
      const { message } = errorCodes.BAD_NAME;
      const reason = await connected(connect(server.url, { auth: { name } })).catch((error: unknown) => error);
      expect(reason).toMatchObject({ message, data: { ok: false, code: 'BAD_NAME', message } });
    },
  );
});

test('a message longer than MAX_PAYLOAD costs its sender the connection, and nobody else theirs', async () => {
  const loud = connect(server.url, { transports: ['websocket'], reconnection: false });
  await connected(loud);
  const gone = new Promise((resolve) => loud.once('disconnect', resolve));
  loud.emit('echo', 'x'.repeat(1_000_001));
  expect(await gone).toMatch(/^transport (close|error)$/);
});

describe('a server without history', () => {
  let bare: RunningServer;
  let member: ChatClient;
  beforeAll(async () => {
    bare = await startServer({ WORKERS: '1', HISTORY_TTL: '0' });
    member = connect(bare.url);
    await connected(member);
  });
  afterAll(async () => {
    member.disconnect();
    await bare.stop();
  });

  test('HISTORY_TTL=0: messages go to those who are there, and a page is refused', async () => {
    expect(expectOk(await member.emitWithAck('join', 'hall'))).not.toHaveProperty('offset');
    const heard = nextEvent<[ChatMessage]>(member, 'message');
    expectOk(await member.emitWithAck('message', { room: 'hall', text: 'hi' }));
    expect((await heard)[0].text).toBe('hi');
    expect(await member.emitWithAck('history', { room: 'hall' })).toMatchObject({ code: 'HISTORY_OFF' });
  });
});
