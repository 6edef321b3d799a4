import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { opcodes } from '../../../harness/connection.js';
import { Refused, text } from '../attacker/kit.js';
import { event } from './rows.js';

// Clients that return. The application has connection state recovery, and its clients name rooms.

const application = fileURLToPath(new URL('../app.mjs', import.meta.url));

/** Clients that return at once. */
const FEW = 20;
const MANY = 500;
const CROWD = 700;
/** How often the attacker has something sent to all, in ms. */
const BROADCAST_MS = 10;
const PATIENCE_MS = 5000;
/** How long an acknowledgement may take, in ms: also that of the packets that are kept. */
const FILL_MS = 40_000;

/** Where the client comes from that has packets sent to the crowd. */
const FILLER = '127.0.0.70';

const named = (prefix, count) => Array.from({ length: count }, (_, number) => `${prefix}${number}`);

/** A WebSocket in the main namespace, what it needs to return, and what came before it was let in. */
async function enter(attacker, auth = {}, worker = attacker.target, address = undefined) {
  const connection = await attacker.socket({ worker, address, auth: null, patience: PATIENCE_MS, hears: true });
  const bytes = text(`40${JSON.stringify(auth)}`);
  attacker.bytes += bytes.length;
  connection.write(bytes);
  const before = [];
  const answer = await packet(connection, (one) => one.startsWith('40') || !before.push(one));
  return { connection, before, pid: JSON.parse(answer.slice(2)).pid };
}

/** The next packet that fits. */
async function packet(connection, fits, patience = PATIENCE_MS) {
  for (;;) {
    const frame = await connection.frame(patience);
    const one = frame?.payload.toString();
    if (one === undefined || frame.opcode === opcodes.close) throw new Error('the connection has ended');
    if (one === '2') connection.write(text('3'));
    if (fits(one)) return one;
  }
}

/** Sends an event, and resolves once it was acknowledged. */
async function emit(connection, ...values) {
  connection.write(text(`421${JSON.stringify(values)}`));
  await packet(connection, (one) => one.startsWith('431'), FILL_MS);
}

/** The last argument of the first event that a client gets: what it returns with. */
async function firstOffset(connection) {
  return JSON.parse((await packet(connection, (one) => one.startsWith('42["hello"'))).slice(2)).at(-1);
}

/** Clients of the attacker that have something to return to: each is in rooms, and has an offset of before all packets. */
async function prepared(attacker, { clients, rooms, packets, isMissed = false }) {
  const connections = [];
  const sessions = [];
  for (let count = 0; count < clients; count++) {
    const entered = await enter(attacker).catch((error) => {
      // Limits may let fewer in; the attack goes on with these.
      if (sessions.length > 0 && error instanceof Refused) return undefined;
      throw error;
    });
    if (!entered) break;
    const { connection, pid } = entered;
    sessions.push({ pid, offset: await firstOffset(connection) });
    await emit(connection, 'join', named('r', rooms));
    connections.push(connection.discard());
  }
  // The crowd may have all the connections that its address may have.
  const { connection } = await enter(attacker, {}, attacker.other, FILLER);
  // What was sent to them while they were away is what they lack.
  if (isMissed) for (const one of connections) one.end();
  await emit(connection, 'fill', isMissed ? ['r0'] : named('x', 1000), packets);
  connection.end();
  for (const one of connections) one.end();
  return sessions;
}

/** Returns again and again, with what `authOf` makes of a session. */
const returning = (name, about, { atOnce = FEW, ...size }, authOf) => ({
  name: `recovery: ${name}`,
  about,
  application,
  prepare: (attacker) => prepared(attacker, size),
  run: (attacker, sessions) =>
    Promise.all([
      broadcast(attacker),
      attacker.atOnce(atOnce, async (index) => {
        const { connection } = await enter(attacker, authOf(sessions[index % sessions.length]));
        connection.end();
      }),
    ]),
});

const broadcast = (attacker) =>
  attacker.again(async () => {
    const connection = await attacker.socket();
    while (await attacker.send(connection, text('42["message",{"room":"x0","text":""}]'))) await sleep(BROADCAST_MS);
    connection.end();
  });

const senders = (count, number) =>
  named('w', count)
    .map((name) => `~${name}.${number}`)
    .join('');

/** A time that has not come yet. */
const FUTURE = 'zzzzzzzzz';

const sameAgain = ({ pid, offset }) => ({ pid, offset });

/** What was sent to a room before the attacker joined it. */
const listening = {
  name: 'recovery: messages from before a join',
  about: 'an offset with older numbers, and a room joined late',
  application,
  run: async (attacker) => {
    const { connection, pid } = await enter(attacker);
    const offset = await firstOffset(connection);
    const { connection: other } = await enter(attacker);
    await emit(other, 'join', ['secret']);
    await emit(other, 'message', { room: 'secret', text: 'before' });
    await emit(connection, 'join', ['secret']);
    other.write(event('message', { room: 'secret', text: 'after' }));
    await packet(connection, (one) => one.startsWith('42["message"'));
    connection.end();
    const back = await enter(attacker, { pid, offset }, attacker.other);
    if (back.pid !== pid) throw new Error('the client was not recovered');
    const missed = back.before.filter((one) => one.startsWith('42["message"'));
    if (missed.length !== 1 || !missed[0].includes('after')) throw new Error(`the client got ${missed}`);
    back.connection.end();
    other.end();
  },
};

/** @type {import('../attacks.js').Attack[]} */
export const recoveryAttacks = [
  returning(
    'old offsets in 6,000 rooms',
    'returns to what is not kept',
    { clients: 1, rooms: 6000, packets: 60_000 },
    sameAgain,
  ),
  {
    ...returning(
      '9,000 missed packets each',
      `${CROWD} sessions that return at once`,
      { clients: CROWD, rooms: 1, packets: 9000, isMissed: true, atOnce: CROWD },
      sameAgain,
    ),
    bounds: { same: 250, other: 250 },
  },
  returning(
    'offsets of what never comes',
    `${MANY} offsets at once of broadcasts that no worker has sent`,
    { clients: MANY, rooms: 1, packets: 100, atOnce: MANY },
    ({ pid }) => ({ pid, offset: `g~${FUTURE}~1.0~1.zzzzzzzz~2.zzzzzzzz${senders(8, 5)}` }),
  ),
  listening,
];
