import fc from 'fast-check';
import { join, MAX_PACKET_BYTES } from '../clients.js';
import { expectSame } from '../mismatch.js';
import { replyTo } from '../oracle.js';
import { fields, json, oneOf, room, text, upTo } from '../values.js';

/** Chat events with whatever may stand where their input should, after authentication. */

const page = { epoch: text, after: fc.nat(), before: fc.nat(), limit: fc.integer({ min: 0, max: 1002 }) };
const inputs = {
  join: room,
  leave: room,
  who: room,
  token: text,
  message: fields({ room, text }),
  direct: fields({ to: text, text }),
  history: fields({ room, with: fc.constant(undefined), ...page }),
  echo: json,
};
const known = Object.entries(inputs).map(([event, input]) =>
  fc.record({
    event: fc.constant(event),
    values: oneOf([8, fc.tuple(input)], [2, fc.tuple(json)], [1, fc.array(json, { maxLength: 3 })]),
  }),
);
/** socket.io refuses these names itself: see packets.js. */
const reserved = new Set(['connect', 'connect_error', 'disconnect', 'disconnecting', 'newListener', 'removeListener']);
const unknown = fc.record({
  event: oneOf(text, fc.integer()).filter((event) => !reserved.has(event) && !(event in inputs)),
  values: fc.array(json, { maxLength: 3 }),
});

/** What is too long is the matter of the families `frames` and `api`. */
const fits = ({ event, values }) => Buffer.byteLength(JSON.stringify([event, values])) < MAX_PACKET_BYTES - 100;

export const weight = 40;
export const arbitrary = upTo(40, oneOf([9, oneOf(...known)], [1, unknown]).filter(fits));

const FENCE = 1_000_000;

/** Sends all at once; each must get its reply, and the connection must stay. */
export async function play(events, { port, transport, user, use }) {
  const client = use(await join(port, transport, { token: user.token }), 'leave');
  const packets = events.map(({ event, values }, id) => `42${id}${JSON.stringify([event, ...values])}`);
  client.send([...packets, `42${FENCE}["echo","fence"]`]);
  const state = { joined: new Set(), may: user.may };
  const expected = new Map([[FENCE, '["fence"]']]);
  for (const [id, { event, values }] of events.entries()) {
    const reply = expectedReply(event, JSON.parse(JSON.stringify(values)), state);
    if (reply !== undefined) expected.set(id, reply);
  }
  while (expected.size > 0) {
    const packet = await client.next();
    if (packet === undefined) throw new Error(`the connection was closed, ${expected.size} replies are missing`);
    const [, id, reply] = /^43(\d+)([\s\S]*)$/.exec(packet) ?? [];
    if (id === undefined) continue;
    const want = expected.get(Number(id));
    expected.delete(Number(id));
    expectSame(want?.startsWith('[') ? reply : outcomeOf(reply), want, events[id]);
  }
  return events.length;
}

function outcomeOf(reply) {
  const [{ ok, code }] = JSON.parse(reply);
  return ok ? 'ok' : code;
}

/** The reply's code, or its whole JSON; undefined where no reply comes. */
function expectedReply(event, values, state) {
  // With more values than the event has, the acknowledgement is not where the server looks for it.
  const isAnswered = Object.hasOwn(inputs, event) && values.length <= 1;
  if (event === 'echo') return isAnswered ? JSON.stringify(values) : undefined;
  if (!Object.hasOwn(inputs, event)) return undefined;
  const reply = replyTo(event, values.length === 0 ? () => {} : values[0], state);
  return isAnswered ? reply : undefined;
}
