import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { workerIn } from '../../../../src/base/worker-name.js';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import type { FrameAdapter } from '../../../../src/cluster/backplanes/frames/adapter.js';
import { roomKeyOf } from '../../../../src/cluster/backplanes/frames/interest/rooms.js';
import { decodeBroadcast } from '../../../../src/cluster/wire/broadcast.js';
import { Envelope } from '../../../../src/cluster/wire/envelope.js';
import { ENVELOPES } from '../../../../src/cluster/wire/hub-frame.js';
import { types } from '../../../../src/cluster/wire/types.js';
import { disconnectAll, type Pair, pairOn, receivedBy } from '../../../io/rooms/support/clients.js';
import { Machine, machinesOn, onRedisFrames, startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { nextEvent } from '../../../support/clients.js';
import { atEnd } from '../../../support/ends.js';
import { RedisProcess, until } from '../../../support/redis.js';
import { Wire } from '../../../support/wire.js';

type Member = TestNode & { bus: Backplane };

/** Four workers: all on one machine, or two on each of two. */
const WORKERS = 4;

async function onOneMachine() {
  const machine = await Machine.start();
  return { open: () => machine.openBackplane(), remove: () => machine.remove() };
}

async function onTwoMachines() {
  const redis = await RedisProcess.start();
  const address = { server: 'redis', url: redis.url, prefix: 'socket.io' } as const;
  const { openBackplane, remove } = await machinesOn('redis-frames', address);
  return {
    open: openBackplane,
    remove: async () => {
      await remove();
      await redis.remove();
    },
  };
}

describe.each([
  ['the embedded bus', onOneMachine],
  ['hubs over Redis', onTwoMachines],
])('on %s', (_name, start) => {
  let place: Awaited<ReturnType<typeof start>>;
  let members: Member[];
  let pairs: Pair[];
  /** What the bus brought to each worker or the worker itself sent: the first values of events. */
  let brought: unknown[][];

  beforeAll(async () => {
    place = await start();
    members = [];
    for (let count = 0; count < WORKERS; count++) members.push(await startMember(await place.open()));
    brought = members.map(({ io }) => {
      const events: unknown[] = [];
      io.of('/').adapter.on('broadcast', ({ data }: { data: unknown[] }) => events.push(data[0]));
      return events;
    });
    pairs = await Promise.all(members.map((member) => pairOn(member)));
    // A worker that has not announced its rooms yet is sent everything.
    await until(async () => {
      for (const events of brought) events.length = 0;
      for (const { io } of members) io.to('nowhere').emit('announced?');
      await receivedBy(pairs, members);
      return brought.every((events) => events.filter((event) => event === 'announced?').length <= 1);
    });
    for (const events of brought) events.length = 0;
  });

  afterEach(() => {
    for (const events of brought) events.length = 0;
  });

  afterAll(async () => {
    disconnectAll();
    for (const member of members) await member.close();
    await place.remove();
  });

  test('a message reaches no worker without members of its room', async () => {
    await Promise.all([pairs[0]!.socket.join('pair'), pairs[1]!.socket.join('pair')]);
    for (let number = 0; number < 50; number++) members[number % 2]!.io.to('pair').emit('to the pair', number);
    const received = await receivedBy(pairs, members);
    const counts = received.map((events) => events.filter(([event]) => event === 'to the pair').length);
    expect(counts).toEqual([50, 50, 0, 0]);
    const arrivals = brought.map((events) => events.filter((event) => event === 'to the pair').length);
    expect(arrivals).toEqual([50, 50, 0, 0]);
  });

  test('a message to a room that several workers share is sent to each, from a worker without members too', async () => {
    await pairs[1]!.socket.join('elsewhere');
    const heard = nextEvent(pairs[1]!.client, 'from afar');
    members[3]!.io.to(['elsewhere', 'nowhere']).emit('from afar', 1);
    expect(await heard).toEqual([1]);
    await receivedBy(pairs, members);
    expect(brought.map((events) => events.includes('from afar'))).toEqual([false, true, false, true]);
  });

  test('a socket that has joined with await misses nothing that any worker sends from then on', async () => {
    for (let number = 0; number < 100; number++) {
      const { socket, client } = pairs[number % WORKERS]!;
      await socket.join(`late ${number}`);
      const heard = nextEvent(client, 'late');
      members[(number + 1) % WORKERS]!.io.to(`late ${number}`).emit('late', number);
      expect(await heard).toEqual([number]);
    }
  });

  test('a room that socketsJoin has just made on other workers gets the message behind it', async () => {
    for (let number = 0; number < 20; number++) {
      const room = `made ${number}`;
      const heard = Promise.all(pairs.map(({ client }) => nextEvent(client, 'made')));
      members[number % WORKERS]!.io.socketsJoin(room);
      members[number % WORKERS]!.io.to(room).emit('made', number);
      expect(await heard).toEqual(pairs.map(() => [number]));
    }
  });

  test('once the last member has left, the worker hears no more', async () => {
    await Promise.all([pairs[2]!.socket.join('left'), pairs[0]!.socket.join('left')]);
    await pairs[2]!.socket.leave('left');
    await until(async () => {
      brought[2]!.length = 0;
      members[0]!.io.to('left').emit('to those who stay');
      await receivedBy(pairs, members);
      return !brought[2]!.includes('to those who stay');
    });
    expect(brought[0]).toContain('to those who stay');
  });

  test('a room of 20 characters, or named like an id of another worker, is a room as any other', async () => {
    const random = 'Qz3-_x7RtY0aBcDeFgHi';
    const [, , living, foreign] = pairs.map(({ socket }) => workerIn(socket.id));
    for (const room of [random, `9999.${random}`, `${living}.${random}`, `${foreign}.${random}`, `user.${random}`]) {
      for (const { received } of pairs) received.length = 0;
      for (const events of brought) events.length = 0;
      await Promise.all([pairs[0]!.socket.join(room), pairs[1]!.socket.join(room)]);
      for (let number = 0; number < 20; number++) members[number % WORKERS]!.io.to(room).emit('to the room', number);
      const received = await receivedBy(pairs, members);
      expect(received.map((events) => events.filter(([event]) => event === 'to the room').length)).toEqual([
        20, 20, 0, 0,
      ]);
      // A worker sees what it sends itself, and what is for its ids.
      const seen = [0, 1, 2, 3].map((index) => index < 2 || room.startsWith(`${[living, foreign][index - 2]}.`));
      expect(brought.map((events) => events.filter((event) => event === 'to the room').length)).toEqual(
        seen.map((isForIt) => (isForIt ? 20 : 5)),
      );
      await Promise.all([pairs[0]!.socket.leave(room), pairs[1]!.socket.leave(room)]);
    }
  });

  test('an id names its worker, and is long and different each time', async () => {
    for (const { io } of members) io.of('/other');
    const ids = await Promise.all(
      [...members, ...members].map(async (member) => {
        const { client, socket } = await pairOn(member, { namespace: '/other' });
        client.disconnect();
        return socket.id;
      }),
    );
    for (const [index, id] of ids.entries()) {
      expect(workerIn(id)).toBe(workerIn(pairs[index % WORKERS]!.socket.id));
      expect(id).toMatch(/^\d+(\.[\w-]{8})?\.[\w-]{20}$/);
    }
    expect(new Set(ids.map((id) => id.slice(-20))).size).toBe(ids.length);
    expect(new Set(pairs.map(({ socket }) => workerIn(socket.id))).size).toBe(WORKERS);
  });

  test('a direct message reaches the worker of the socket, and no other one', async () => {
    for (const [to, { socket }] of pairs.entries()) {
      for (const [from, { io }] of members.entries()) {
        for (const events of brought) events.length = 0;
        const heard = nextEvent(pairs[to]!.client, 'direct');
        const { messages } = members[from]!.bus.sent!;
        io.to(socket.id).emit('direct', from);
        expect(await heard).toEqual([from]);
        expect(members[from]!.bus.sent!.messages - messages).toBe(from === to ? 0 : 1);
        await receivedBy(pairs, members);
        const sees = (index: number) => index === to || index === from;
        expect(brought.map((events) => events.includes('direct'))).toEqual(pairs.map((_, index) => sees(index)));
      }
    }
  });

  test('a message to an id of a worker that is gone, or of no worker, is for nobody', async () => {
    const gone = await startMember(await place.open());
    const { id } = (await pairOn(gone)).socket;
    await receivedBy(pairs, [gone]);
    await gone.close();
    await receivedBy(pairs, members);
    await until(async () => {
      for (const events of brought) events.length = 0;
      for (const dead of [id, `9999.${id.slice(-20)}`]) members[0]!.io.to(dead).emit('to nobody');
      await receivedBy(pairs, members);
      return brought.slice(1).every((events) => !events.includes('to nobody'));
    });
    expect(await members[0]!.io.in(id).fetchSockets()).toEqual([]);
  });

  test('what an id selects is asked of its worker alone', async () => {
    const [asker, owner] = [members[0]!, pairs[3]!];
    const { id } = owner.socket;
    await owner.socket.join('owned');
    owner.client.on('question', (reply: (answer: number) => void) => reply(42));
    const asked = members.map(({ io }) => jest.spyOn(io.of('/').adapter as FrameAdapter, 'receiveMessage'));
    expect((await asker.io.in(id).fetchSockets()).map((socket) => socket.id)).toEqual([id]);
    expect(await asker.io.to(id).timeout(9000).emitWithAck('question')).toEqual([42]);
    asker.io.in(id).socketsJoin('by id');
    const heard = nextEvent(owner.client, 'to the joined');
    asker.io.to('by id').emit('to the joined', 1);
    expect(await heard).toEqual([1]);
    asker.io.in(id).socketsLeave('by id');
    asker.io.in('owned').socketsLeave('owned');
    expect(await asker.io.except(id).fetchSockets()).toHaveLength(WORKERS - 1);
    await until(() => !owner.socket.rooms.has('owned'));
    const requests = asked.map(({ mock }) =>
      mock.calls.filter(([{ type }]) => isRequest(type)).map(([{ type }]) => type),
    );
    const { fetchSockets, question, socketsJoin, socketsLeave } = types;
    const toAll = [fetchSockets];
    const toOwner = [fetchSockets, question, socketsJoin, socketsLeave, socketsLeave, ...toAll];
    expect(requests.slice(1)).toEqual([toAll, toAll, toOwner]);
    for (const spy of asked) spy.mockRestore();
    // Here, nobody is asked.
    expect(await members[3]!.io.in(id).fetchSockets()).toHaveLength(1);
    expect(await members[3]!.io.to(id).timeout(9000).emitWithAck('question')).toEqual([42]);
    members[2]!.io.except(id).emit('not to the owner');
    const received = await receivedBy(pairs, members);
    expect(received.map((events) => events.flat().includes('not to the owner'))).toEqual([true, true, true, false]);
  });

  test('what is for a socket of this worker does not leave it, whatever waits for other workers', async () => {
    const { io, bus } = members[3]!;
    const { client, socket } = pairs[3]!;
    client.on('question', (reply: (answer: number) => void) => reply(42));
    await Promise.all([socket.join('own'), pairs[0]!.socket.join('own')]);
    await receivedBy(pairs, members);
    const others = members.slice(0, 3).flatMap((member) => {
      const adapter = member.io.of('/').adapter as FrameAdapter;
      return [jest.spyOn(adapter, 'receiveMessage'), jest.spyOn(adapter, 'receiveBroadcast')];
    });
    for (const waits of [false, true]) {
      const heard = nextEvent(client, 'to itself');
      const { frames } = bus.sent!;
      if (waits) io.to('own').emit('to others');
      io.to(socket.id).emit('to itself');
      io.in(socket.id).socketsJoin('own');
      io.in(socket.id).socketsLeave('none');
      expect(await io.in(socket.id).fetchSockets()).toHaveLength(1);
      expect(await io.to(socket.id).timeout(9000).emitWithAck('question')).toEqual([42]);
      await heard;
      await pairs[0]!.socket.join('fence');
      if (!waits) expect(bus.sent!.frames).toBe(frames);
    }
    await receivedBy(pairs, members);
    const arrived = others.flatMap(({ mock }) => mock.calls.map(([message]) => message));
    const events = arrived.map((message) => ('encoded' in message ? message.encoded[0] : message.type));
    expect(events.filter((event) => !String(event).includes('fence'))).toEqual(['2["to others"]']);
    for (const spy of others) spy.mockRestore();
    socket.leave('own');
    pairs[0]!.socket.leave('own');
    pairs[0]!.socket.leave('fence');
  });

  test('a question to a room that is named like an id is answered by all, also while its member leaves', async () => {
    const [asker, owner] = [members[0]!, pairs[3]!];
    owner.client.on('question', (reply: (answer: number) => void) => reply(42));
    const [living] = pairs.map(({ socket }) => workerIn(socket.id));
    for (const room of ['user', living, workerIn(pairs[2]!.socket.id)].map((name) => `${name}.Qz3-_x7RtY0aBcDeFgHi`)) {
      await owner.socket.join(room);
      expect((await asker.io.in(room).fetchSockets()).map(({ id }) => id)).toEqual([owner.socket.id]);
      expect(await asker.io.to(room).timeout(9000).emitWithAck('question')).toEqual([42]);
      // Something waits for the window, and the leave arrives before its end.
      asker.io.emit('before the question');
      const asked = asker.io.in(room).fetchSockets();
      await owner.socket.leave(room);
      expect((await asked).length).toBeLessThanOrEqual(1);
    }
  });

  test('who joins the own room of a socket of another worker hears its messages, and so does the socket', async () => {
    const [owner, guest] = [pairs[3]!, pairs[0]!];
    for (let number = 0; number < 20; number++) {
      await guest.socket.join(owner.socket.id);
      for (const { received } of pairs) received.length = 0;
      for (const text of ['at once', 'later']) {
        members[number % WORKERS]!.io.to(owner.socket.id).emit('to both', text);
        const heard = await receivedBy(pairs, members);
        for (const member of [0, 3]) expect(heard[member]).toContainEqual(['to both', text]);
      }
      guest.socket.leave(owner.socket.id);
      members[number % WORKERS]!.io.to(owner.socket.id).emit('to the owner', number);
      const received = await receivedBy(pairs, members);
      expect(received[3]).toContainEqual(['to the owner', number]);
      expect(received[0]).not.toContainEqual(['to the owner', number]);
    }
  });

  test('direct messages reach a socket whose id has the key of a room that another client has entered', async () => {
    const [victim, attacker] = [pairs[3]!, pairs[0]!];
    const { id } = victim.socket;
    const room = roomLike(id);
    expect([room === id, roomKeyOf('/', room)]).toEqual([false, roomKeyOf('/', id)]);
    await attacker.socket.join(room);
    for (let number = 0; number < 30; number++) {
      // Time for the workers to learn of the room.
      await receivedBy(pairs, members);
      const heard = nextEvent(victim.client, 'direct');
      members[number % WORKERS]!.io.to(id).emit('direct', number);
      expect(await heard).toEqual([number]);
    }
    await attacker.socket.leave(room);
  });

  test('direct messages reach a socket by its id on any worker', async () => {
    const heard = Promise.all(pairs.map(({ client }) => nextEvent(client, 'direct')));
    for (const [index, { socket }] of pairs.entries()) {
      members[(index + 1) % WORKERS]!.io.to(socket.id).emit('direct', index);
    }
    expect(await heard).toEqual([[0], [1], [2], [3]]);
  });

  test('direct messages reach a socket by the id that the application gave it, from any worker', async () => {
    // One looks like an id of Socket.IO, and one is that of another worker, as after a return to this one.
    const ids = ['user-0', 'user-1', 'user'.padEnd(20, '-'), pairs[0]!.socket.id.replace(/.$/, '-')];
    for (const { io } of members) {
      io.of('/own-ids').use((socket, next) => {
        Object.assign(socket, { id: socket.handshake.auth.user });
        next();
      });
    }
    const own = await Promise.all(
      members.map((member, index) => pairOn(member, { namespace: '/own-ids', auth: { user: ids[index] } })),
    );
    expect(own.map(({ client }) => client.id)).toEqual(ids);
    // Time for the workers to learn of the rooms.
    await receivedBy(own, members);
    for (const [number, { io }] of members.entries()) for (const id of ids) io.of('/own-ids').to(id).emit('n', number);
    for (const received of await receivedBy(own, members)) {
      expect(received.toSorted()).toEqual(members.map((_, number) => ['n', number]));
    }
  });
});

const PRIME = 0x01000193;
const INVERSE = 0x359c449b;
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const { greet, greeted, leave } = types;
const isRequest = (type: number) => !([greet, greeted, leave] as number[]).includes(type);

/** A room of the namespace `/` that has the same key as another one. */
function roomLike(id: string): string {
  // FNV-1a can be calculated from both ends.
  const hashed = (text: string) =>
    [...`/\x1f${text}`].reduce((hash, char) => Math.imul(hash ^ char.charCodeAt(0), PRIME), 0x811c9dc5);
  const prefixes = new Map<number, string>();
  for (let number = 0; number < 200_000; number++) {
    const prefix = `${number}`.padStart(17, 'x');
    prefixes.set(hashed(prefix), prefix);
  }
  const before = (hash: number, char: string) => Math.imul(hash, INVERSE) ^ char.charCodeAt(0);
  for (const last of BASE64) {
    const third = before(hashed(id), last);
    for (const middle of BASE64) {
      const second = before(third, middle);
      for (const first of BASE64) {
        const prefix = prefixes.get(before(second, first));
        if (prefix) return prefix + first + middle + last;
      }
    }
  }
  throw new Error('no such room was found');
}

describe('a join without await', () => {
  test.each([
    ['on one machine', onOneMachine],
    ['on two machines', onTwoMachines],
  ])('%s, a client hears what is sent after its join is acknowledged', async (_name, start) => {
    const place = await start();
    const members = [await startMember(await place.open()), await startMember(await place.open())] as const;
    atEnd(async () => {
      disconnectAll();
      for (const member of members) await member.close();
      await place.remove();
    });
    const [one, other] = [await pairOn(members[0]), await pairOn(members[1])];
    one.socket.on('enter', (room: string, done: () => void) => {
      void one.socket.join(room);
      done();
    });
    other.socket.on('say', (room: string) => members[1].io.to(room).emit('said', room));
    for (let number = 0; number < 100; number++) {
      const heard = nextEvent(one.client, 'said');
      await one.client.emitWithAck('enter', `entered ${number}`);
      other.client.emit('say', `entered ${number}`);
      expect(await heard).toEqual([`entered ${number}`]);
    }
  });

  const late = 'whose announcement is late brings what was sent since, once and in order, and nothing older';
  test(`over hubs, ${late}`, async () => {
    const redis = await RedisProcess.start();
    const wire = await Wire.to(redis.port);
    const members = [
      await startMember(onRedisFrames(`redis://127.0.0.1:${wire.port}`)),
      await startMember(onRedisFrames(redis.url)),
    ] as const;
    atEnd(async () => {
      disconnectAll();
      for (const member of members) await member.close();
      wire.close();
      await redis.remove();
    });
    const pairs = [await pairOn(members[0]), await pairOn(members[1])] as const;
    const [{ socket }, speaker] = pairs;
    await speaker.socket.join('room');
    const brought: unknown[] = [];
    members[0].io.of('/').adapter.on('broadcast', ({ data }: { data: unknown[] }) => brought.push(data[0]));
    const say = async (...words: string[]) => {
      const heard = nextEvent(speaker.client, words.at(-1)!);
      for (const word of words) members[1].io.to(['room', 'no room']).emit(word);
      await heard;
    };
    await until(async () => {
      brought.length = 0;
      await say('is it brought?');
      await receivedBy(pairs, members);
      return !brought.includes('is it brought?');
    });
    await say('before');
    // Longer than the shortest way of a message, and the accuracy of clocks.
    await new Promise((resolve) => setTimeout(resolve, 100));
    wire.hold();
    void socket.join('room');
    await say('first', 'second', 'third');
    wire.release();
    await receivedBy(pairs, members, ['room']);
    await say('fourth');
    await receivedBy(pairs, members, ['room']);
    // The room is announced once more, and nothing is repeated.
    socket.leave('room');
    await receivedBy(pairs, members);
    await socket.join('room');
    const [heard] = await receivedBy(pairs, members, ['room']);
    expect(heard!.flat()).toEqual(['first', 'second', 'third', 'fourth']);
  });
});

test('of four machines on one Redis, only those with members of a room are sent its messages', async () => {
  const redis = await RedisProcess.start();
  const spy = new Redis(redis.url);
  /** The events in the frames to each machine. */
  const sent = new Map<string, string[]>();
  const nodes: (Member & { machine: string })[] = [];
  atEnd(async () => {
    disconnectAll();
    spy.disconnect();
    for (const node of nodes) await node.close();
    await redis.remove();
  });
  for (let count = 0; count < 4; count++) {
    const machine = `machine${count}`;
    nodes.push({ ...(await startMember(onRedisFrames(redis.url, 'socket.io', machine))), machine });
    sent.set(machine, []);
  }
  await spy.psubscribe('socket.io:frames:hubs:*');
  spy.on('pmessageBuffer', (_pattern, channel: Buffer, frame: Buffer) => {
    const machine = channel.toString().split(':').at(-1)!;
    const events = sent.get(machine)!;
    const envelope = new Envelope(frame, ENVELOPES);
    if (frame.length > ENVELOPES)
      while (envelope.next()) {
        if (envelope.type !== types.broadcast) continue;
        events.push(JSON.parse(decodeBroadcast(envelope.body).encoded[0]!.slice(1) as string)[0]);
      }
  });
  const pairs = await Promise.all(nodes.map((node) => pairOn(node)));
  const rooms: [room: string, one: number, other: number][] = [];
  for (const one of [0, 1, 2, 3])
    for (const other of [1, 2, 3]) if (one < other) rooms.push([`${one}${other}`, one, other]);
  for (const [room, ...both] of rooms) for (const node of both) await pairs[node]!.socket.join(room);
  for (let turn = 0; turn < 20; turn++) {
    for (const [room, one, other] of rooms) nodes[turn % 2 ? one : other]!.io.to(room).emit(room);
  }
  const received = await receivedBy(pairs, nodes);
  // The spy may get the frames later than the machines. Each of them is in three rooms.
  const seen = (machine: string) => sent.get(machine)!.filter((event) => !event.startsWith('fence ')).length;
  await until(() => nodes.every(({ machine }) => seen(machine) >= 30));
  for (const [index, { machine }] of nodes.entries()) {
    const own = rooms.filter(([, ...both]) => both.includes(index)).map(([room]) => room);
    const counts = new Map<string, number>();
    for (const event of sent.get(machine)!) {
      if (!event.startsWith('fence ')) counts.set(event, (counts.get(event) ?? 0) + 1);
    }
    // Each machine sends half of the messages of its rooms itself.
    expect(new Map([...counts].sort())).toEqual(new Map(own.map((room) => [room, 10])));
    expect(received[index]!.filter(([event]) => own.includes(String(event)))).toHaveLength(60);
    expect(received[index]).toHaveLength(60);
  }
});
