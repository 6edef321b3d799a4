import { afterEach, describe, expect, test } from '@jest/globals';
import { type ChatClient, connect, connected, disconnectAll, expectOk, nextEvent } from '../../support/clients.js';
import { sharedServer } from '../../support/server.js';

const tag = expect.any(Number);

const server = sharedServer({ WORKERS: '2' });

afterEach(disconnectAll);

async function join(name: string | undefined, ...rooms: string[]): Promise<ChatClient> {
  const client = connect(server.url, name === undefined ? {} : { auth: { name } });
  await connected(client);
  for (const room of rooms) expectOk(await client.emitWithAck('join', room));
  return client;
}

/** Asks until each client's worker knows so many users: there is no event for those outside the room. */
async function allKnow(clients: ChatClient[], room: string, users: number): Promise<void> {
  for (const client of clients) {
    while (expectOk(await client.emitWithAck('who', room)).members !== users);
  }
}

describe('join', () => {
  test('tells the room, its members and the worker, and may be repeated', async () => {
    const client = await join('Astrid');
    const reply = expectOk(await client.emitWithAck('join', 'first'));
    expect(reply).toEqual({ ok: true, room: 'first', members: 1, worker: expect.any(Number), offset: 0, tag: 0 });
    expect([1, 2]).toContain(reply.worker);
    expect(await client.emitWithAck('join', 'first')).toEqual(reply);
  });

  test('takes any name of a room, those of properties and sockets included', async () => {
    const other = await join('Other');
    for (const room of ['__proto__', 'constructor', 'å 🎺', 'x'.repeat(128), other.id!]) {
      const client = await join('Astrid', room);
      const heard = nextEvent(client, 'message');
      await client.emitWithAck('message', { room, text: 'here' });
      expect(await heard).toMatchObject([{ room, text: 'here' }]);
      expect(await client.emitWithAck('who', room)).toMatchObject({ users: ['Astrid'] });
    }
  });
});

describe('message', () => {
  test('reaches every member, the sender too, with sender and time, and nobody else', async () => {
    const astrid = await join('Astrid', 'hall');
    const bjorn = await join('Bjørn', 'hall');
    const outside = await join('Chen', 'yard');
    const heard: unknown[] = [];
    outside.on('message', (message) => heard.push(message));

    const before = Date.now();
    const both = Promise.all([nextEvent<[{ at: number }]>(astrid, 'message'), nextEvent(bjorn, 'message')]);
    expect(await astrid.emitWithAck('message', { room: 'hall', text: 'Hello!' })).toEqual({
      ok: true,
      tag,
      offset: 1,
    });
    const [[one], [other]] = await both;
    expect(one).toEqual({ room: 'hall', from: 'Astrid', text: 'Hello!', at: expect.any(Number), offset: 1, tag });
    expect(other).toEqual(one);
    expect(one.at).toBeGreaterThanOrEqual(before);
    expect(one.at).toBeLessThanOrEqual(Date.now());

    const fence = nextEvent(outside, 'message');
    expectOk(await astrid.emitWithAck('join', 'yard'));
    astrid.emit('message', { room: 'yard', text: 'fence' });
    await fence;
    expect(heard).toMatchObject([{ room: 'yard', text: 'fence' }]);
  });

  test('needs no acknowledgement, and says only what the server knows', async () => {
    const client = await join('Astrid', 'alone');
    const heard = nextEvent(client, 'message');
    client.emit('message', { room: 'alone', text: 'true', from: 'Bjørn', at: 0 } as never);
    const message = { room: 'alone', from: 'Astrid', text: 'true', at: expect.any(Number), offset: 1, tag };
    expect(await heard).toEqual([message]);
  });
});

test('leave ends the hearing and the right to speak, and may be repeated', async () => {
  const astrid = await join('Astrid', 'inside', 'outside');
  const bjorn = await join('Bjørn', 'inside', 'outside');
  const heard: string[] = [];
  bjorn.on('message', ({ text }) => heard.push(text));
  expect(await bjorn.emitWithAck('leave', 'inside')).toEqual({ ok: true });
  expect(await bjorn.emitWithAck('leave', 'inside')).toEqual({ ok: true });
  expect(await bjorn.emitWithAck('message', { room: 'inside', text: 'x' })).toMatchObject({ code: 'NOT_IN_ROOM' });

  const fence = nextEvent(bjorn, 'message');
  astrid.emit('message', { room: 'inside', text: 'not for Bjørn' });
  astrid.emit('message', { room: 'outside', text: 'fence' });
  await fence;
  expect(heard).toEqual(['fence']);
});

test('who lists the users of a room by name, from inside and outside', async () => {
  const chen = await join('Chen', 'listed');
  await join('Astrid', 'listed');
  const outside = await join('Bjørn');
  await allKnow([chen, outside], 'listed', 2);
  for (const client of [chen, outside]) {
    const reply = { ok: true, room: 'listed', members: 2, users: ['Astrid', 'Chen'] };
    expect(await client.emitWithAck('who', 'listed')).toEqual(reply);
  }
  expect(await outside.emitWithAck('who', 'nowhere')).toEqual({ ok: true, room: 'nowhere', members: 0, users: [] });
});

test('who counts the connections of a user that has several, and members are told of a change', async () => {
  const chen = await join('Chen', 'shared');
  const presenceOf = (isNew: boolean) =>
    new Promise<object>((resolve) => {
      chen.on('presence', (presence) => presence.joined?.includes('Astrid') === isNew && resolve(presence));
    });
  const joined = presenceOf(true);
  await join('Astrid', 'shared');
  await joined;
  const told = presenceOf(false);
  await join('Astrid', 'shared');
  expect(await told).toEqual({ room: 'shared', members: 2, joined: [], left: [] });
  expect(await chen.emitWithAck('who', 'shared')).toMatchObject({
    users: ['Astrid', 'Chen'],
    connections: { Astrid: 2 },
  });
});

test.each([['text'], [0], [null], [{ nested: [1, Buffer.from([1, 2])] }]])('echo gives back %j', async (value) => {
  const client = await join(undefined);
  expect(await client.emitWithAck('echo', value)).toEqual(value);
  const back = nextEvent(client, 'echo');
  client.emit('echo', value);
  expect(await back).toEqual([value]);
});

describe('a name', () => {
  test('comes from auth.name, without the space around it', async () => {
    const client = await join('  Astrid ', 'names');
    expect(await client.emitWithAck('who', 'names')).toMatchObject({ users: ['Astrid'] });
  });

  test('is given to guests', async () => {
    const guests = [await join(undefined, 'guests'), await join(undefined, 'guests')];
    await allKnow(guests, 'guests', 2);
    const { users } = expectOk(await guests[0]!.emitWithAck('who', 'guests'));
    expect(users).toEqual(guests.map(({ id }) => `guest-${id!.slice(0, 6)}`).sort());
  });
});
