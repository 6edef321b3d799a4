import { afterEach, expect, test } from '@jest/globals';
import { machineTime } from '../../../../src/base/clock.js';
import { joinTexts } from '../../../../src/base/names.js';
import { Keeper } from '../../../../src/features/recovery/keeper/keeper.js';
import { KeeperLink } from '../../../../src/features/recovery/link.js';
import {
  type Collected,
  type Found,
  type FromKeeperElsewhere,
  type NamespaceOptions,
  type SessionState,
  type ToWorker,
  textPacker,
} from '../../../../src/features/recovery/messages.js';
import { encodeOffset } from '../../../../src/features/recovery/offset.js';
import { VersionVector } from '../../../../src/features/recovery/version-vector.js';
import { movableClock } from '../../../support/clock.js';
import { until } from '../../../support/until.js';

const namespace = joinTexts('0', '/');
const options: NamespaceOptions = {
  ...{ durationMs: 60_000, silenceMs: 45_000, slackMs: 0, sweepMs: 5000 },
  ...{ maxBytes: 1e6, maxSessions: 100, maxRooms: 100, maxMissed: 100, maxMissedBytes: 1e6 },
  ...{ maxReplayed: 100, maxReplayedBytes: 1e6 },
};
const WORKER = 1;
/** Names of workers in offsets, and how much the worker that asks has received of each. */
const [own, other] = ['aaaaaa', 'bbbbbb'];
const RECEIVED = 5;
/** Since when the workers have been there. */
const began = machineTime() - 60_000;

const sessionOf = (pid: string, room = 'room'): SessionState => ({
  ...{ pid, sid: `s${pid.slice(1)}`, rooms: [room], data: {}, worker: own, aliveAt: began + 50_000 },
  ...{ resumedFrom: undefined, floors: [], alsoReceived: undefined, isShared: false },
  ...{ user: undefined, address: undefined, connection: undefined },
});

const keepers: Keeper[] = [];
afterEach(() => {
  for (const keeper of keepers.splice(0)) keeper.close();
});

/** A keeper with the session of a client that is away. */
class Machine {
  readonly answers: ToWorker[] = [];
  readonly keeper = new Keeper({
    isAlone: false,
    sendToWorker: (_worker, message) => this.answers.push(message),
    sendToHub: (hub, message) => {
      this.sent.push(message);
      if (message.type === 'collect') this.asked.push([hub, message.request]);
      if (message.type === 'collected') this.collected.set(message.answers, message.collected);
    },
  });
  readonly sent: FromKeeperElsewhere[] = [];
  /** The keepers that are asked for packets. */
  readonly asked: [hub: string, request: number][] = [];
  /** Its own answers. */
  readonly collected = new Map<number, Collected>();

  constructor(isAgain: boolean) {
    keepers.push(this.keeper);
    this.keeper.onMessage(WORKER, { type: 'open', namespace, name: own, sent: 0, isAgain, options });
    const session = sessionOf('p'.repeat(20));
    this.keeper.onMessage(WORKER, { type: 'live', namespace, session, floor: 0, floorAt: 0 });
    this.keeper.onMessage(WORKER, { type: 'away', namespace, pid: session.pid });
  }

  /** The outcome for a client that has received this many packets of the other worker. */
  async outcomeFor(received: number, receivesSince = began): Promise<Found['outcome']> {
    // The client has received something since the loss.
    const offset = encodeOffset(machineTime() + 1, own, 0, new VersionVector([[other, received]]));
    const all = `${new VersionVector([[other, RECEIVED]])}`;
    const question = { request: 1, ms: 5000, pid: 'p'.repeat(20), offset, received: all, receivesSince };
    this.keeper.onMessage(WORKER, { type: 'find', namespace, ...question });
    const found = () => this.answers.find((answer) => answer.type === 'found');
    await until(() => found() !== undefined);
    return (found() as Extract<ToWorker, { type: 'found' }>).found.outcome;
  }
}

test('a worker that has announced an id already is not asked to announce it', async () => {
  const { keeper, answers } = new Machine(false);
  const find = (pid: string, isAnnounced: boolean) => {
    const session = { ...sessionOf(pid), sid: `3.${pid}` };
    keeper.onMessage(WORKER, { type: 'live', namespace, session, floor: 0, floorAt: 0 });
    keeper.onMessage(WORKER, { type: 'away', namespace, pid });
    const offset = encodeOffset(machineTime(), own, 0, new VersionVector());
    const question = { request: 1, ms: 5000, pid, offset, received: '', receivesSince: began, isAnnounced };
    keeper.onMessage(WORKER, { type: 'find', namespace, ...question });
  };
  const typesOf = () => answers.map(({ type }) => type).filter((type) => type === 'taking' || type === 'found');
  find('a'.repeat(20), true);
  await until(() => typesOf().length > 0);
  find('b'.repeat(20), false);
  await until(() => typesOf().length > 1);
  expect(typesOf()).toEqual(['found', 'taking']);
});

test.each(['is closed', 'is left open'])(
  'what was sent in a namespace that is made again is kept, if the one of before %s',
  async (how) => {
    const { keeper, answers } = new Machine(false);
    const packetOf = (number: number) => ({
      number,
      at: began + number,
      rooms: [],
      except: [],
      packets: [`${number}`],
    });
    for (const number of [1, 2, 3]) keeper.onMessage(WORKER, { type: 'packet', namespace, packet: packetOf(number) });
    if (how === 'is closed') keeper.onMessage(WORKER, { type: 'close', namespace });
    keeper.onMessage(WORKER, { type: 'open', namespace, name: own, sent: 0, isAgain: false, options });
    keeper.onMessage(WORKER, { type: 'packet', namespace, packet: packetOf(7) });
    const offset = encodeOffset(began, own, 0, new VersionVector([[own, 2]]));
    const question = { request: 1, ms: 5000, pid: 'p'.repeat(20), offset, received: '', receivesSince: began };
    keeper.onMessage(WORKER, { type: 'find', namespace, ...question });
    const found = () => answers.find((answer) => answer.type === 'found');
    await until(() => found() !== undefined);
    const { missed } = (found() as { found: Extract<Found, { outcome: undefined }> }).found;
    expect(missed.map(([, number]) => number)).toEqual([3, 7]);
  },
);

/** In both cases, no keeper has what the other worker has sent. */
const losses: Record<string, () => Machine> = {
  'another machine was killed': () => {
    const machine = new Machine(false);
    machine.keeper.onHubHere('hub');
    machine.keeper.onHubMessage('hub', { type: 'senders', namespace, names: [other], sentAt: machineTime() });
    machine.keeper.onHubGone('hub');
    return machine;
  },
  'a worker and its hub were killed': () => new Machine(true),
};

test.each(Object.entries(losses))('after %s, clients are recovered that have received all', async (_, lost) => {
  expect(await lost().outcomeFor(RECEIVED)).toBeUndefined();
  expect(await lost().outcomeFor(RECEIVED - 1)).toBe('packets missing');
});

test.each(Object.entries(losses))('after %s, a worker that has begun since cannot tell', async (_, lost) => {
  expect(await lost().outcomeFor(RECEIVED, machineTime())).toBe('packets missing');
});

test('what yet another keeper has is not lost with the former hub', async () => {
  const machine = new Machine(true);
  machine.keeper.onHubHere('hub');
  machine.keeper.onHubMessage('hub', { type: 'senders', namespace, names: [other], sentAt: machineTime() });
  const outcome = machine.outcomeFor(RECEIVED - 1);
  await until(() => machine.asked.length > 0);
  const [[hub, request]] = machine.asked as [[string, number]];
  const collected = { outcome: undefined, packets: [], upTo: '' };
  machine.keeper.onHubMessage(hub, {
    type: 'collected',
    answers: request,
    collected,
    keepers: [],
    sentAt: machineTime(),
  });
  expect(await outcome).toBeUndefined();
});

test('a keeper waits for a worker that does not reach the bus, and answers for none that stays so', async () => {
  const machine = new Machine(false);
  machine.keeper.onHubHere('hub');
  const session = { rooms: ['room'], aliveAt: machineTime(), floors: undefined, alsoReceived: undefined };
  const asked = { at: machineTime(), received: '', receivesSince: began, session };
  const question = { offset: encodeOffset(machineTime(), other, 0, new VersionVector()), ...asked };
  const outcome = async (request: number) => {
    machine.keeper.onHubMessage('hub', {
      type: 'collect',
      request,
      ms: 3000,
      namespace,
      question,
      sentAt: machineTime(),
    });
    await until(() => machine.collected.has(request));
    return machine.collected.get(request)!.outcome;
  };
  machine.keeper.onMessage(WORKER, { type: 'bus', namespace, isUp: false });
  expect(await outcome(1)).toBe('worker behind');
  const waiting = outcome(2);
  machine.keeper.onMessage(WORKER, { type: 'bus', namespace, isUp: true });
  expect(await waiting).toBeUndefined();
});

test('workers hear that packets may be lost when a keeper that was lost is here again, and not from a new one', () => {
  const { keeper, answers } = new Machine(false);
  const lost = () => answers.filter(({ type }) => type === 'lost').length;
  keeper.onHubHere('hub');
  keeper.onHubGone('hub');
  expect(lost()).toBe(0);
  keeper.onHubHere('hub');
  expect(lost()).toBe(1);
});

/** A keeper without others, and its sessions, three of which lack 20 MB. */
function fullKeeper(tell = (_message: ToWorker): void => {}) {
  const found: number[] = [];
  const outcomes: Found['outcome'][] = [];
  const keeper = new Keeper({
    isAlone: true,
    sendToWorker: (_worker, message) => {
      tell(message);
      if (message.type !== 'found') return;
      found.push(message.answers);
      outcomes.push(message.found.outcome);
    },
    sendToHub: () => {},
  });
  keepers.push(keeper);
  const large = { ...options, maxBytes: 1e9, maxMissedBytes: 1e9, maxReplayedBytes: 1e9 };
  keeper.onMessage(WORKER, { type: 'open', namespace, name: own, sent: 0, isAgain: false, options: large });
  const sessions = [sessionOf('p0'), sessionOf('p1'), sessionOf('p2'), sessionOf('p3', 'elsewhere')];
  for (const session of sessions) {
    keeper.onMessage(WORKER, { type: 'live', namespace, session, floor: 0, floorAt: 0 });
    keeper.onMessage(WORKER, { type: 'away', namespace, pid: session.pid });
  }
  const packet = { number: 1, at: machineTime(), rooms: ['room'], except: [], packets: ['x'.repeat(2e7)] };
  keeper.onMessage(WORKER, { type: 'packet', namespace, packet });
  const question = {
    ms: 5000,
    offset: encodeOffset(began, own, 0, new VersionVector()),
    received: '',
    receivesSince: began,
  };
  const find = (request: number) =>
    keeper.onMessage(WORKER, { type: 'find', namespace, pid: sessions[request]!.pid, request, ...question });
  return { keeper, sessions, found, outcomes, find };
}

test('a worker gets what further clients lack once it has done with those before', async () => {
  const { keeper, sessions, found, find } = fullKeeper();
  for (const request of sessions.keys()) find(request);
  // The last one lacks nothing, so it does not wait.
  await until(() => found.includes(0) && found.includes(3));
  expect(found).toHaveLength(2);
  keeper.onMessage(WORKER, { type: 'failed', namespace, pid: 'p0' });
  await until(() => found.includes(1));
  expect(found).not.toContain(2);
  keeper.onMessage(WORKER, { type: 'live', namespace, session: sessions[1]!, floor: 0, floorAt: 0 });
  await until(() => found.includes(2));
});

test('a worker gives back a session that it waits for no longer', async () => {
  let tell = (_message: ToWorker): void => {};
  const { keeper, found, outcomes, find } = fullKeeper((message) => tell(message));
  const link = new KeeperLink(
    {
      isLocal: true,
      send: (messages) => {
        for (const message of messages) keeper.onMessage(WORKER, message);
      },
      listen: ({ onHere, onMessage }) => {
        tell = onMessage;
        onHere();
      },
      close: () => {},
    },
    textPacker,
  );
  // The link knows nothing of these questions, as of those whose time is over.
  find(0);
  find(1);
  await until(() => found.includes(1));
  expect(outcomes).toEqual([undefined, undefined]);
  link.close();
});

test('a client waits a few seconds for those before it, and gets a new session then', async () => {
  const { keeper, found, outcomes, find } = fullKeeper();
  const clock = movableClock();
  find(0);
  find(1);
  await clock.until(() => found.includes(1));
  expect(outcomes).toEqual([undefined, 'too much replayed']);
  keeper.onMessage(WORKER, { type: 'failed', namespace, pid: 'p0' });
  find(2);
  await clock.until(() => found.includes(2));
  expect(outcomes.at(-1)).toBeUndefined();
});

test('the keeper of a new hub waits for a worker that was there before it, which has told the former one of a session', async () => {
  let linked = () => {};
  const isLinked = new Promise<void>((resolve) => {
    linked = resolve;
  });
  const answers: ToWorker[] = [];
  const sendToWorker = (_worker: number, message: ToWorker) => void answers.push(message);
  const keeper = new Keeper({ isAlone: true, isLinked, sendToWorker, sendToHub: () => {} });
  keepers.push(keeper);
  const opened = { type: 'open', namespace, sent: 0, isAgain: true, options } as const;
  keeper.onMessage(WORKER, { ...opened, name: other });
  const session = sessionOf('p'.repeat(20));
  const { pid } = session;
  // The client has received something since both have told.
  const offset = encodeOffset(machineTime() + 500, own, 0, new VersionVector());
  const question = { request: 1, ms: 5000, pid, offset, received: '', receivesSince: began };
  keeper.onMessage(WORKER, { type: 'find', namespace, ...question });
  await new Promise((resolve) => setImmediate(resolve));
  linked();
  keeper.onMessage(WORKER + 1, { ...opened, name: own });
  keeper.onMessage(WORKER + 1, { type: 'live', namespace, session, floor: 0, floorAt: 0 });
  keeper.onMessage(WORKER + 1, { type: 'away', namespace, pid });
  await until(() => answers.some(({ type }) => type === 'found'));
  expect(answers.find(({ type }) => type === 'found')).toMatchObject({
    found: { outcome: undefined, session: { pid } },
  });
});

/** A keeper that has met another one, and what both are told. */
function twoKeepers() {
  const { keeper, answers, asked, sent } = new Machine(false);
  keeper.onHubHere('hub');
  const find = (pid: string) => {
    const offset = encodeOffset(machineTime(), own, 0, new VersionVector());
    const question = { request: 1, ms: 5000, pid, offset, received: '', receivesSince: began };
    keeper.onMessage(WORKER, { type: 'find', namespace, ...question });
  };
  const found = () => answers.find((answer) => answer.type === 'found') as Extract<ToWorker, { type: 'found' }>;
  return { keeper, answers, asked, sent, find, found };
}

test('a worker has the answer, whatever it is, before it gives up', async () => {
  const clock = movableClock();
  const { keeper, asked, find, found } = twoKeepers();
  keeper.onHubHere('lost');
  keeper.onHubMessage('lost', { type: 'senders', namespace, names: [other], sentAt: machineTime() });
  keeper.onHubGone('lost');
  const start = machineTime();
  find('p'.repeat(20));
  await clock.until(() => asked.length > 0 || found() !== undefined);
  const [[hub, request]] = asked as [[string, number]];
  await clock.ahead(2400);
  keeper.onHubHere('third');
  const collected = { outcome: undefined, packets: [], upTo: '' };
  keeper.onHubMessage(hub, {
    type: 'collected',
    answers: request,
    collected,
    keepers: ['third'],
    sentAt: machineTime(),
  });
  await clock.until(() => found() !== undefined);
  expect(machineTime() - start).toBeLessThan(5000);
});

test('a client returns from a worker that hangs, once that is killed', async () => {
  const clock = movableClock();
  const { keeper, answers } = new Machine(false);
  const session = sessionOf('q'.repeat(20));
  const hanging = WORKER + 1;
  keeper.onMessage(hanging, { type: 'open', namespace, name: other, sent: 0, isAgain: false, options });
  keeper.onMessage(hanging, { type: 'live', namespace, session, floor: 0, floorAt: 0 });
  const offset = encodeOffset(machineTime(), own, 0, new VersionVector());
  const question = { request: 1, ms: 18_000, pid: session.pid, offset, received: '', receivesSince: began };
  keeper.onMessage(WORKER, { type: 'find', namespace, ...question });
  const found = () => answers.find((answer) => answer.type === 'found');
  await clock.ahead(11_000);
  await until(() => answers.some(({ type }) => type === 'end'));
  expect(found()).toBeUndefined();
  keeper.onWorkerGone(hanging);
  await until(() => found() !== undefined);
  expect(found()).toMatchObject({ found: { outcome: undefined } });
});

test.each([
  [false, 'session unknown'],
  [true, undefined],
])('a session stays if its client could not move: %s', async (isMoving, outcome) => {
  const { keeper, answers } = new Machine(false);
  const offset = encodeOffset(machineTime(), own, 0, new VersionVector());
  const question = { ms: 1000, pid: 'p'.repeat(20), offset, received: '', receivesSince: began, isMoving };
  const outcomes = () => answers.flatMap((answer) => (answer.type === 'found' ? [answer.found.outcome] : []));
  keeper.onMessage(WORKER, { type: 'bus', namespace, isUp: false });
  keeper.onMessage(WORKER, { type: 'find', namespace, request: 1, ...question });
  await until(() => outcomes().length === 1);
  keeper.onMessage(WORKER, { type: 'bus', namespace, isUp: true });
  keeper.onMessage(WORKER, { type: 'find', namespace, request: 2, ...question });
  await until(() => outcomes().length === 2);
  expect(outcomes()).toEqual(['worker behind', outcome]);
});

test('what was replayed over a connection that broke at once does not count as received', async () => {
  const clock = movableClock();
  const { keeper, answers } = new Machine(false);
  const session = sessionOf('q'.repeat(20));
  const { pid } = session;
  const packet = { number: 1, at: machineTime(), rooms: ['room'], except: [], packets: ['x'] };
  keeper.onMessage(WORKER, { type: 'live', namespace, session, floor: 0, floorAt: 0 });
  keeper.onMessage(WORKER, { type: 'away', namespace, pid });
  keeper.onMessage(WORKER, { type: 'packet', namespace, packet });
  const offset = encodeOffset(began, own, 0, new VersionVector([[own, 0]]));
  const question = { ms: 5000, pid, offset, received: '', receivesSince: began };
  const outcomes = () => answers.flatMap((answer) => (answer.type === 'found' ? [answer.found.outcome] : []));
  // Each time, nearly as late as possible.
  await clock.ahead(56_000);
  keeper.onMessage(WORKER, { type: 'find', namespace, request: 1, ...question });
  await clock.until(() => outcomes().length === 1);
  const resumed = { ...session, resumedFrom: offset };
  keeper.onMessage(WORKER, { type: 'live', namespace, session: resumed, floor: 0, floorAt: 0 });
  keeper.onMessage(WORKER, { type: 'away', namespace, pid });
  await clock.ahead(57_000);
  keeper.onMessage(WORKER, { type: 'find', namespace, request: 2, ...question });
  await clock.until(() => outcomes().length === 2);
  expect(outcomes()).toEqual([undefined, 'packets missing']);
});

test('a session that another keeper gives too late is kept here, and its end is reported', async () => {
  const clock = movableClock();
  const { keeper, answers, sent, find, found } = twoKeepers();
  const giver = new Machine(false);
  const brief = { ...options, durationMs: 10_000, sweepMs: 500 };
  keeper.onMessage(WORKER, { type: 'options', namespace, options: brief });
  keeper.onMessage(WORKER, { type: 'listen', namespace, isListening: true });
  const session = sessionOf('q'.repeat(20));
  giver.keeper.onMessage(WORKER, { type: 'live', namespace, session, floor: 0, floorAt: 0 });
  giver.keeper.onMessage(WORKER, { type: 'away', namespace, pid: session.pid });
  find(session.pid);
  await clock.until(() => found() !== undefined);
  expect(found().found.outcome).toBe('session unknown');
  const seek = sent.find(({ type }) => type === 'seek') as Extract<FromKeeperElsewhere, { type: 'seek' }>;
  giver.keeper.onHubMessage('asker', seek);
  await clock.until(() => giver.sent.some(({ type }) => type === 'sought'));
  keeper.onHubMessage('hub', giver.sent.find(({ type }) => type === 'sought')!);
  await clock.ahead(12_000);
  const ended = answers.flatMap((answer) => (answer.type === 'expired' ? answer.session.id : []));
  expect(ended).toContain(session.sid);
});

test('a keeper gives no session that is waited for no longer', async () => {
  const clock = movableClock();
  const { keeper, sent } = new Machine(false);
  const session = sessionOf('q'.repeat(20));
  keeper.onMessage(WORKER, { type: 'live', namespace, session, floor: 0, floorAt: 0 });
  const given = () =>
    sent.filter(({ type }) => type === 'sought') as Extract<FromKeeperElsewhere, { type: 'sought' }>[];
  const seek = { type: 'seek', namespace, pid: session.pid, ms: 1000, sentAt: machineTime() } as const;
  keeper.onHubMessage('asker', { ...seek, request: 1 });
  await clock.ahead(1200);
  keeper.onMessage(WORKER, { type: 'away', namespace, pid: session.pid });
  await clock.until(() => given().length > 0);
  expect(given()[0]!.away).toBeUndefined();
  keeper.onHubMessage('asker', { ...seek, request: 2 });
  await clock.until(() => given().length > 1);
  expect(given()[1]!.away?.session.pid).toBe(session.pid);
});

const leaves = (sender: string, numbers: readonly number[]): FromKeeperElsewhere => {
  const packets = numbers.map((number) => ({ number, at: machineTime(), rooms: ['room'], except: [], packets: ['x'] }));
  const stream = { sender, floor: 0, floorAt: 0, last: RECEIVED, lagMs: 0, packets };
  return { type: 'inherit', namespace, options, streams: [stream], away: [], sentAt: machineTime() };
};

const nothing = { type: 'collected', collected: { outcome: undefined, packets: [], upTo: '' }, keepers: [] } as const;

test('a client gets what a keeper has left that has ended when it was asked', async () => {
  const { keeper, asked, find, found } = twoKeepers();
  keeper.onHubMessage('hub', { type: 'senders', namespace, names: [other], sentAt: machineTime() });
  find('p'.repeat(20));
  await until(() => asked.length > 0);
  keeper.onHubMessage('hub', leaves(other, [RECEIVED]));
  keeper.onHubGone('hub');
  await until(() => found() !== undefined);
  expect(found().found).toMatchObject({ outcome: undefined, missed: [[other, RECEIVED, expect.any(Number), ['x']]] });
});

test('and gets it once, if that keeper has answered before', async () => {
  const { keeper, asked, find, found } = twoKeepers();
  keeper.onHubHere('third');
  keeper.onHubMessage('hub', { type: 'senders', namespace, names: [other], sentAt: machineTime() });
  find('p'.repeat(20));
  await until(() => asked.length === 2);
  const requestOf = new Map(asked);
  const packets = [[other, RECEIVED, machineTime(), ['x']] as const];
  const all = { outcome: undefined, packets, upTo: `${new VersionVector([[other, RECEIVED]])}` } as never;
  const answer = (hub: string, collected: Collected) =>
    keeper.onHubMessage(hub, { ...nothing, answers: requestOf.get(hub)!, collected, sentAt: machineTime() });
  answer('hub', all);
  // It has left all to the third one, which is asked after that.
  keeper.onHubMessage('third', { type: 'senders', namespace, names: [other], sentAt: machineTime() });
  keeper.onHubGone('hub');
  answer('third', all);
  await until(() => asked.length === 3);
  requestOf.set(...asked[2]!);
  answer('third', all);
  await until(() => found() !== undefined);
  expect(found().found).toMatchObject({ outcome: undefined, missed: [[other, RECEIVED, expect.any(Number), ['x']]] });
});

type Inherit = Extract<FromKeeperElsewhere, { type: 'inherit' }>;

/** What a keeper that ends sends to another one, of the packets of a worker. */
function leftOf({ keeper, sent }: Machine, sender: string): Inherit[] {
  keeper.onHubHere('heir');
  keeper.close();
  const all = sent.filter(({ type }) => type === 'inherit') as Inherit[];
  return all.filter(({ streams }) => streams[0]?.sender === sender);
}

/** A keeper that gets so many of the two parts that another one leaves, with what is sent to a third one. */
function heirOf(parts: number) {
  const giver = new Machine(false);
  giver.keeper.onMessage(WORKER + 1, { type: 'open', namespace, name: other, sent: 0, isAgain: false, options });
  for (let number = 1; number <= RECEIVED; number++) {
    const packet = { number, at: machineTime(), rooms: ['room'], except: [], packets: ['x'.repeat(180_000)] };
    giver.keeper.onMessage(WORKER + 1, { type: 'packet', namespace, packet });
  }
  const left = leftOf(giver, other);
  expect(left).toHaveLength(2);
  const heir = new Machine(false);
  for (const hub of ['giver', 'third']) heir.keeper.onHubHere(hub);
  heir.keeper.onHubMessage('giver', { type: 'senders', namespace, names: [other], sentAt: machineTime() });
  for (const part of left.slice(0, parts)) heir.keeper.onHubMessage('giver', part);
  for (const hub of ['giver', 'third']) heir.keeper.onHubGone(hub);
  return heir;
}

test.each([
  [1, 'packets missing'],
  [2, undefined],
])('a client that lacks packets of which %i of 2 parts were left gets: %s', async (parts, outcome) => {
  const clock = movableClock();
  expect(await clock.settled(heirOf(parts).outcomeFor(RECEIVED - 1))).toBe(outcome);
  expect(await clock.settled(heirOf(parts).outcomeFor(RECEIVED))).toBeUndefined();
});

test.each([
  [1, 'packets missing'],
  [2, undefined],
])('and so with a third keeper, which has begun since: %i of 2: %s', async (parts, outcome) => {
  const clock = movableClock();
  const last = () => {
    const third = new Machine(false);
    for (const part of leftOf(heirOf(parts), other)) third.keeper.onHubMessage('hub', part);
    return third;
  };
  expect(await clock.settled(last().outcomeFor(RECEIVED - 1))).toBe(outcome);
  expect(await clock.settled(last().outcomeFor(RECEIVED))).toBeUndefined();
});

test.each([
  [1, false],
  [2, true],
])('others ask a keeper for what is left to it once all of it is there: %i of 2 parts: %s', (parts, isTold) => {
  const told = heirOf(parts).sent.flatMap((message) => (message.type === 'senders' ? message.names : []));
  expect(told.includes(other)).toBe(isTold);
});

test('a session is found that a keeper has left to a third one, which was asked before', async () => {
  const { keeper, sent, find, found } = twoKeepers();
  keeper.onHubHere('heir');
  keeper.onHubMessage('hub', { type: 'senders', namespace, names: [other], sentAt: machineTime() });
  const session = sessionOf('q'.repeat(20));
  const direct = { floor: 0, floorAt: 0, last: 0, lagMs: 0, packets: [] };
  const seeks = () => sent.filter(({ type }) => type === 'seek') as Extract<FromKeeperElsewhere, { type: 'seek' }>[];
  const answer = (away: { session: SessionState; awayMs: number; direct: typeof direct } | undefined) => {
    const { request } = seeks().at(-1)!;
    keeper.onHubMessage('heir', { type: 'sought', answers: request, namespace, away, sentAt: machineTime() });
  };
  find(session.pid);
  await until(() => seeks().length === 2);
  answer(undefined);
  keeper.onHubGone('hub');
  keeper.onHubMessage('heir', { type: 'senders', namespace, names: [other], sentAt: machineTime() });
  await until(() => seeks().length === 3);
  answer({ session, awayMs: 10, direct });
  await until(() => sent.some(({ type }) => type === 'collect'));
  const { request } = sent.find(({ type }) => type === 'collect') as { request: number };
  keeper.onHubMessage('heir', { ...nothing, answers: request, sentAt: machineTime() });
  await until(() => found() !== undefined);
  expect(found().found).toMatchObject({ outcome: undefined, session: { pid: session.pid } });
});

test('a keeper that others ask before its workers have begun answers once it knows them', async () => {
  let linked = () => {};
  const isLinked = new Promise<void>((resolve) => {
    linked = resolve;
  });
  const sent: FromKeeperElsewhere[] = [];
  const keeper = new Keeper({
    ...{ isAlone: false, isLinked, sendToWorker: () => {} },
    sendToHub: (_hub, message) => void sent.push(message),
  });
  keepers.push(keeper);
  keeper.onHubHere('asker');
  const session = { rooms: ['room'], aliveAt: began, floors: undefined, alsoReceived: undefined };
  const offset = encodeOffset(machineTime(), other, 0, new VersionVector());
  const question = { offset, at: machineTime(), received: '', receivesSince: began, session };
  const asked = { namespace, ms: 3000, sentAt: machineTime() };
  const { pid } = sessionOf('q'.repeat(20));
  keeper.onHubMessage('asker', { ...asked, type: 'collect', request: 1, question });
  keeper.onHubMessage('asker', { ...asked, type: 'seek', request: 2, pid });
  await new Promise((resolve) => setImmediate(resolve));
  linked();
  keeper.onMessage(WORKER, { type: 'open', namespace, name: own, sent: 0, isAgain: false, options });
  const packet = { number: 1, at: machineTime(), rooms: ['room'], except: [], packets: ['x'] };
  keeper.onMessage(WORKER, { type: 'packet', namespace, packet });
  keeper.onMessage(WORKER, { type: 'live', namespace, session: sessionOf(pid), floor: 0, floorAt: 0 });
  keeper.onMessage(WORKER, { type: 'away', namespace, pid });
  const answers = () => sent.filter(({ type }) => type === 'collected' || type === 'sought');
  await until(() => answers().length === 2);
  expect(answers()).toMatchObject([
    { away: { session: { pid } } },
    { collected: { packets: [[own, 1, packet.at, ['x']]] } },
  ]);
});
