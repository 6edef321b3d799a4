// What clients of a generator do. Each role begins to play when it is called, and returns the functions of `Client`'s owner that
// it replaces. Rates are open loops.

import { now, readStamp, STAMP_LENGTH, stamp } from './clock.js';
import { PEEK } from './frames.js';
import { pace } from './pace.js';
import { setRest } from './rest.js';
import { eventFrame, textFrame } from './wire.js';

// Where an event's name starts in `42["message",…`: not every event is the one that is counted.
const NAME_AT = 4;
const M = 'm'.charCodeAt(0);
const S = 's'.charCodeAt(0);

/** A text that begins with the current time. */
const textOf = (size) => {
  const padding = 'x'.repeat(size - STAMP_LENGTH);
  return () => stamp() + padding;
};
const requestFrame = (...event) => textFrame(`420${JSON.stringify(event)}`);

/** The room of the client with this number, where rooms have `members` each. */
export const roomOf = (number, members) => `room-${Math.floor(number / members)}`;

/** The names of `correspond` are numbered, and 0 writes to 1, 2 to 3 and so on. */
export const nameOf = (number) => `u${number}`;
const partnerOf = ({ name }) => nameOf(Number(name.slice(1)) ^ 1);

/**
 * Sends `size` characters `perSecond` times a second, the clients taking turns, and times the answers. A client whose
 * last answer is still out is passed over and counted as late: there is one message in flight per client at most.
 */
function echo(clients, { event, size, perSecond }, counters, latency) {
  const frame = eventFrame(event, 'x'.repeat(size));
  // 42["echo","…"], with an offset behind the text where the server recovers connections
  const answerLength = 2 + JSON.stringify([event, 'x'.repeat(size)]).length;
  let turn = 0;
  pace(perSecond, () => {
    const client = clients[turn++ % clients.length];
    if (client.state !== 0) {
      counters.late++;
      return;
    }
    client.state = now();
    counters.sent++;
    client.send(frame);
  });
  return {
    event(client, _bytes, _at, length) {
      counters.received++;
      if (length < answerLength || client.state === 0) counters.errors++;
      else latency.record(now() - client.state);
      client.state = 0;
    },
  };
}

const QUOTES = 10;
// 42["data","0…": the text of 10,000 bytes starts with its number, 0 to 9.
const NUMBER_AT = 11;
const QUOTE_LENGTH = 10_000 + '42["data",""]'.length;

/**
 * Workload 3's client: a heartbeat a second, and a check that ten messages of 10,000 bytes came back, in order. The
 * clients' heartbeats are spread evenly over the second. Latency is from the heartbeat to the tenth message. A client
 * that still waits for messages when its turn comes is passed over and counted as late.
 */
function heartbeat(clients, _options, counters, latency) {
  const frame = eventFrame('heartbeat');
  const sentAt = new Map();
  let turn = 0;
  for (const client of clients) client.state = QUOTES;
  pace(clients.length, () => {
    const client = clients[turn++ % clients.length];
    if (client.state !== QUOTES) {
      counters.late++;
      return;
    }
    client.state = 0;
    sentAt.set(client, now());
    counters.sent++;
    client.send(frame);
  });
  return {
    event(client, bytes, at, length) {
      counters.received++;
      if (length !== QUOTE_LENGTH || bytes[at + NUMBER_AT] - 48 !== client.state) counters.errors++;
      client.state++;
      if (client.state === QUOTES) latency.record(now() - sentAt.get(client));
    },
  };
}

/** Publishes `perSecond` texts of `size` bytes to `room` with the event `event`, the clients taking turns; `atMost` so many. */
function publish(clients, { event, room, perSecond, size, atMost = Number.POSITIVE_INFINITY }, counters) {
  const text = textOf(size);
  pace(perSecond, () => {
    if (counters.sent >= atMost) return;
    clients[counters.sent++ % clients.length].send(eventFrame(event, { room, text: text() }));
  });
  return { event() {} };
}

/**
 * Counts the room's messages and times every `every`-th. `every` should be a prime, so that it does not share a factor
 * with the number of subscribers and pick the same ones again and again. `before` is what stands before a message's
 * text, among the first bytes of the packet. `rest` is explained in `rest.js`.
 */
function subscribe(_clients, { every, before, rest }, counters, latency) {
  setRest(rest);
  let untilSample = every;
  return {
    event(_client, bytes, at, length) {
      if (bytes[at + NAME_AT] !== M) return;
      counters.received++;
      counters.bytes += length;
      if (--untilSample > 0) return;
      untilSample = every;
      const found = bytes.indexOf(before, at, 'latin1');
      const sent = readStamp(bytes, found + before.length);
      if (found >= 0 && sent > 0) latency.record(now() - sent);
      else counters.errors++;
    },
  };
}

/**
 * Rooms whose members publish and subscribe: `perSecond` texts of `size` bytes, to one room after the other. Members take
 * turns so that successive texts come from clients of different rooms, and of different nodes.
 */
function converse(clients, { event, members, perSecond, size, ...subscription }, counters, latency) {
  const text = textOf(size);
  const rooms = Math.floor(clients.length / members);
  pace(perSecond, () => {
    const turn = counters.sent++;
    const room = turn % rooms;
    const number = room * members + ((Math.floor(turn / rooms) + room) % members);
    clients[number].send(eventFrame(event, { room: roomOf(number, members), text: text() }));
  });
  return subscribe(clients, subscription, counters, latency);
}

const BEFORE_TEXT = '"text":"';

/**
 * Pairs of users that write to each other. With `perSecond` they take turns at that rate, whatever the server does;
 * without it each sends its next message when the last is acknowledged. Latency is from the write to the addressee's
 * read; the sender's own copy is not counted.
 */
function correspond(clients, { perSecond, size }, counters, latency) {
  const text = textOf(size);
  const write = (client) => {
    counters.sent++;
    client.send(requestFrame('direct', { to: partnerOf(client), text: text() }));
  };
  let turn = 0;
  if (perSecond) pace(perSecond, () => write(clients[turn++ % clients.length]));
  else for (const client of clients) write(client);
  return {
    event(client, bytes, at, length) {
      const seen = bytes.latin1Slice(at, at + Math.min(length, PEEK));
      if (!seen.startsWith('42["direct"') || !seen.includes(`"to":"${client.name}"`)) return;
      counters.received++;
      const sent = readStamp(bytes, at + seen.indexOf(BEFORE_TEXT) + BEFORE_TEXT.length);
      if (sent > 0) latency.record(now() - sent);
      else counters.errors++;
    },
    acknowledged(client, isOk) {
      counters.acknowledged++;
      if (!isOk) counters.errors++;
      if (!perSecond) write(client);
    },
  };
}

const STAMP_OF_VALUE = '"t":"';
const NUMBER_OF_VALUE = '"n":"';

/**
 * Clients of a state room. They count messages and bytes, and take age and number of the first value of every `every`-th
 * message: the largest number tells how much was published. With `pause`, they sleep for so many ms after each read.
 */
function follow(clients, { every = 1, rest = 0, pause = 0 }, counters, latency) {
  setRest(rest);
  for (const client of clients) client.slowDown(pause);
  let untilSample = every;
  return {
    event(_client, bytes, at, length) {
      if (bytes[at + NAME_AT] !== S) return;
      counters.received++;
      counters.bytes += length;
      if (--untilSample > 0) return;
      untilSample = every;
      const found = bytes.indexOf(STAMP_OF_VALUE, at, 'latin1');
      const sent = readStamp(bytes, found + STAMP_OF_VALUE.length);
      if (!(found >= 0 && sent > 0)) return;
      latency.record(now() - sent);
      const number = bytes.indexOf(NUMBER_OF_VALUE, found, 'latin1') + NUMBER_OF_VALUE.length;
      counters.published = Math.max(counters.published, readStamp(bytes, number) * 1000);
    },
  };
}

/** Clients that join again and again with the event `event`, `perSecond` of them in turn. Times the acknowledgements. */
function joinAgain(clients, { event, perSecond }, counters, latency) {
  const frame = requestFrame(event, {});
  pace(perSecond, () => {
    const client = clients[counters.sent++ % clients.length];
    client.state = now();
    client.send(frame);
  });
  return {
    event(_client, _bytes, _at, length) {
      counters.received++;
      counters.bytes += length;
    },
    acknowledged(client, isOk) {
      counters.acknowledged++;
      if (isOk) latency.record(now() - client.state);
      else counters.errors++;
    },
  };
}

const BEFORE_MESSAGE = '42["message","'.length;

/**
 * Subscribers that pause after each read: for `pause` ms, or, without it, until they are `released`. They check that
 * messages arrive in the order in which they were sent; that holds where one client publishes.
 */
function slow(clients, { pause = Number.POSITIVE_INFINITY }, counters) {
  for (const client of clients) client.slowDown(pause);
  return {
    event(client, bytes, at) {
      counters.received++;
      const sent = readStamp(bytes, at + BEFORE_MESSAGE);
      if (!(sent >= client.state)) counters.errors++;
      client.state = sent;
    },
  };
}

const released = (clients, _options, counters) => slow(clients, { pause: 0 }, counters);

export const roles = {
  ...{ converse, correspond, echo, follow, heartbeat, joinAgain, publish, released, slow, subscribe },
};
