import { frame, opcodes } from '../../../harness/connection.js';
import { binary, filled, SEPARATOR, text } from '../attacker/kit.js';
import { addressOf, early, event, flood, MB, member, posts, probed, socket, unread } from './rows.js';

// Frames and packets on WebSockets, as fast as the attacker may send; and packets that are small on the wire and large
// inside, since socket.io spreads an event's arguments over the stack.

const EMPTY = Buffer.alloc(0);
const ping = frame(EMPTY, { opcode: opcodes.ping });
const longPing = frame(Buffer.alloc(125), { opcode: opcodes.ping });
const pong = frame(EMPTY, { opcode: opcodes.pong });

/** A message has begun whose parts never end. */
async function begun(attacker) {
  const connection = await attacker.socket();
  await connection.write(frame('4', { fin: false }));
  return connection;
}

const engineFloods = [
  ['Engine.IO pongs', text('3')],
  ['Engine.IO pings', text('2')],
  ['Engine.IO noops', text('6')],
  ['empty Engine.IO messages', text('4')],
  ['WebSocket pings', ping],
  ['WebSocket pings of 125 bytes', longPing],
  ['WebSocket pongs', pong],
  ['empty texts', text('')],
  ['parts of a message that never ends', frame(EMPTY, { opcode: opcodes.continuation, fin: false }), begun],
  ['WebSocket pings before CONNECT', ping, early],
  ['probes of an upgrade that is never finished', text('2probe'), probed('target')],
].map(([name, packet, open = socket]) => flood(`engine: ${name}`, open, filled(packet)));

const message = event('message', { room: 'flood', text: 'spam' });
const echo = text('421["echo","x"]');
const slow = { rate: 3 * MB };
const notReading = { isReading: false };
const large = { size: 120_000 };

/** Rows whose name says how much is sent each second, and whether the client reads. */
const paced =
  (kind, open) =>
  ([name, packet, { rate = 10 * MB, isReading = true, size } = {}]) =>
    flood(
      `${kind}: ${name}, ${rate / MB} MB/s${isReading ? '' : ', not reading'}`,
      isReading ? open : unread(open),
      filled(packet, size),
      { rate },
    );

const chatFloods = [
  ['messages', message, slow],
  ['messages', message],
  ['messages with acknowledgements', text('421["message",{"room":"flood","text":"spam"}]')],
  ['messages of 30 KB', event('message', { room: 'flood', text: '€'.repeat(10_000) }), large],
  ['echoes', echo],
  ['echoes', echo, notReading],
  ['echoes of 30 KB', text(`421["echo","${'x'.repeat(30_000)}"]`), { ...large, ...notReading }],
  ['unknown events', event('z')],
  ['a room that is joined and left', Buffer.concat([event('join', 'revolving'), event('leave', 'revolving')])],
  ['a namespace that is joined and left', Buffer.concat([text('41'), text('40')])],
  ['namespaces that are not there', text('40/x,')],
  ['tokens', text('421["token","x.y.z"]')],
].map(paced('chat', member()));

const plainFloods = [
  ['texts', text('spam'), { rate: MB }],
  ['texts', text('spam')],
  ['texts', text('spam'), notReading],
  ['texts of 30 KB', text('€'.repeat(10_000))],
  ['empty texts', text('')],
  ['WebSocket pings', ping],
  ['WebSocket pings of 125 bytes', longPing, notReading],
  ['WebSocket pongs', pong],
].map(paced('plain', (attacker) => attacker.plain('/flood?name=plain')));

const READERS = 100;

/** Members of a room that never read what is said there. Each may have MAX_BACKPRESSURE, 1 MiB, at the same time. */
const readers = (name, open) =>
  // What the kernel holds for one reader, some megabytes, is full after half of the time.
  flood(
    `readers: ${READERS} ${name} that never read`,
    member('busy'),
    event('message', { room: 'busy', text: 'x'.repeat(10_000) }),
    {
      rate: 2 * MB,
      // MAX_BUFFERED bounds them all, and is larger here.
      bounds: { memory: READERS * 1.2 + 80 },
      prepare: async (attacker) => {
        for (let reader = 0; reader < READERS; reader++) (await open(attacker, addressOf(reader))).stopReading();
      },
    },
  );

const COUNT = 62_000;
const zeros = ',0'.repeat(COUNT);
/** As many as a limit of 100,000 bytes a second lets through. */
const fewer = ',0'.repeat(49_500);
const nested = `${'['.repeat(40_000)}${']'.repeat(40_000)}`;
const place = '{"_placeholder":true,"num":0}';
const places = Array.from({ length: 10_000 }, (_, num) => `{"_placeholder":true,"num":${num}}`).join(',');
const one = Buffer.of(1);

/** The packets of one message each: texts, and bytes for attachments. The second group comes before a namespace is joined. */
const shapes = {
  event: [`42["z"${zeros}]`],
  'event with an acknowledgement': [`421["z"${zeros}]`],
  'event of the chat': [`42["echo"${zeros}]`],
  'event of 49,500 arguments': [`42["z"${fewer}]`],
  'event of the chat, 49,500 arguments': [`421["echo"${fewer}]`],
  acknowledgement: [`430[0${zeros}]`],
  'binary event': [`451-["z",${place}${zeros}]`, one],
  'binary acknowledgement': [`461-0[${place}${zeros}]`, one],
  'event nested 40,000 deep': [`42["echo",${nested}]`],
  'event of 10,000 attachments': [`4510000-["z",${places}]`, ...Array(10_000).fill(one)],
  'event that announces 1,000,000,000 attachments': [`451000000000-["z",${place}]`],
};
const earlyShapes = {
  'event before CONNECT': shapes.event,
  'acknowledgement before CONNECT': shapes.acknowledgement,
  'binary event before CONNECT': shapes['binary event'],
  'CONNECT nested 40,000 deep': [`40{"token":${nested}}`],
  'CONNECT of 900 KB': [`40{"token":[0${',0'.repeat(450_000)}]}`],
  'CONNECT of 62,000 keys': [`40{${Array.from({ length: COUNT }, (_, key) => `"${key}":0`).join(',')}}`],
};

const isText = (packet) => typeof packet === 'string';
const frames = (packets) => Buffer.concat(packets.map((packet) => (isText(packet) ? text(packet) : binary(packet))));
const payload = (packets) =>
  packets.map((packet) => (isText(packet) ? packet : `b${packet.toString('base64')}`)).join(SEPARATOR);
const overBoth =
  (auth) =>
  ([name, packets]) => [
    flood(`arguments: ${name}, WebSocket`, (attacker) => attacker.socket({ auth }), frames(packets)),
    posts(`arguments: ${name}, POST`, payload(packets), { open: (attacker) => attacker.polling({ auth }) }),
  ];

/** @type {import('../attacks.js').Attack[]} */
export const packetAttacks = [
  ...Object.entries(shapes).flatMap(overBoth()),
  ...Object.entries(earlyShapes).flatMap(overBoth(null)),
  ...engineFloods,
  ...chatFloods,
  ...plainFloods,
  readers('clients', async (attacker, address) => {
    const connection = await attacker.socket({ address });
    return connection.write(event('join', 'busy'));
  }),
  readers('plain WebSockets', (attacker, address) => attacker.plain('/busy', { address })),
];
