import fc from 'fast-check';
import { Decoder, PacketType } from 'socket.io-parser';
import { join, transports } from '../clients.js';
import { expectSame } from '../mismatch.js';
import { json, mutated, oneOf, text, upTo } from '../values.js';

/** Packets of Engine.IO and Socket.IO that are broken, out of place or out of order, before and after authentication. */

const events = fc.tuple(
  oneOf(text, fc.constantFrom('echo', 'connect', 'disconnecting', 'newListener')),
  fc.array(json, { maxLength: 2 }),
);
const message = fc
  .record({
    type: fc.constantFrom('2', '2', '2', '0', '1', '3', '4', '5', '6', '7', '9', ''),
    attachments: fc.constantFrom('', '', '', '0-', '1-', '2-', '11-', '99999999999999-', '-', '1', '-1-', '1e9-'),
    nsp: oneOf([5, fc.constant('')], [1, text.map((name) => `/${name},`)]),
    id: fc.constantFrom('', '', '0', '7', '99999999999999999999'),
    data: oneOf(
      events.map(([event, values]) => JSON.stringify([event, ...values])),
      json.map((value) => JSON.stringify(value)),
      fc.constantFrom(
        '',
        '["echo",{"_placeholder":true,"num":0}]',
        '["echo",{"_placeholder":true,"num":9}]',
        '["x",{"_placeholder":true,"num":"0"}]',
      ),
    ),
  })
  .map(({ type, attachments, nsp, id, data }) => type + attachments + nsp + id + data);
const packet = oneOf(
  [6, mutated(message).map((data) => `4${data}`)],
  [2, fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes))],
  [1, fc.constantFrom('3', '3probe', '6', '0', '0{"sid":"x"}', '5', '2', '2probe', '1', '7', '', ' 4', '４2')],
  [1, fc.string({ unit: 'binary', maxLength: 30 })],
);

export const weight = 12;
export const arbitrary = fc.record({
  isIn: fc.boolean(),
  packets: upTo(8, packet),
});

const FENCE = '421000000["echo","fence"]';
const FENCE_BACK = '431000000["fence"]';

export async function play({ isIn, packets }, { port, transport, user, use }) {
  const opening = isIn ? join(port, transport, { token: user.token }) : transports[transport].open(port);
  const client = use(await opening, 'leave');
  // What separates the packets of a payload cannot stand within one.
  const sent = packets.map((one) => (typeof one === 'string' ? clean(one) : one));
  client.send([...sent, `4${FENCE.slice(1)}`]);
  let isBack = false;
  for (let next = await client.next(); next !== undefined && !isBack; ) {
    isBack = next === FENCE_BACK;
    if (!isBack) next = await client.next();
  }
  const outcome = outcomeOf([...sent, `4${FENCE.slice(1)}`], isIn, transport);
  if (outcome !== 'either') expectSame(isBack ? 'open' : 'closed', outcome, { isIn, transport, sent });
  return packets.length;
}

/** As text that UTF-8 can carry. */
const clean = (packet) => packet.toWellFormed().replaceAll('\x1e', ' ');

/**
 * Whether the session outlives the packets. The published parser is the reference of what is a Socket.IO packet.
 * `either` where it depends on whether two packets come in one go.
 */
function outcomeOf(packets, isIn, transport) {
  const decoder = new Decoder();
  let verdict = 'open';
  decoder.on('decoded', ({ type, nsp }) => {
    if (type === PacketType.CONNECT && !(nsp === '/' && isIn)) {
      // Whether the server accepts a CONNECT is known only later; a rejected client may try again.
      if (nsp === '/') verdict = 'either';
    } else if (nsp !== '/' || !isIn || type === PacketType.CONNECT || type === PacketType.CONNECT_ERROR) {
      verdict = 'closed';
    } else if (type === PacketType.DISCONNECT) verdict = 'either';
  });
  for (const packet of packets) {
    if (verdict !== 'open') return verdict;
    if (typeof packet === 'string' && packet[0] !== '4' && !(transport === 'polling' && packet[0] === 'b')) {
      const type = '0123456'.indexOf(packet[0] ?? 'x');
      // A client of revision 4 sends no pings, and can announce its end in a payload only.
      if (type === -1 || type === 2 || (type === 1 && transport === 'polling')) return 'closed';
      continue;
    }
    const data =
      typeof packet !== 'string'
        ? packet
        : packet[0] === '4'
          ? packet.slice(1)
          : Buffer.from(packet.slice(1), 'base64');
    try {
      decoder.add(data);
    } catch {
      return 'closed';
    }
  }
  return verdict;
}
