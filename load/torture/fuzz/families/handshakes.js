import fc from 'fast-check';
import { Connection, request, upgradeRequest } from '../../../harness/connection.js';
import { expectSame } from '../mismatch.js';
import { handshakeReply } from '../oracle.js';
import { oneOf, text, upTo } from '../values.js';

/** Requests that begin a session, or ask for one that is not there: unknown, ended, or of a worker that has died. */

const unknownSid = oneOf(
  text,
  fc
    .tuple(
      fc.constantFrom('1.', '2.', '3.', '0.', '999999999.', '9999999999.', '01.', '1', '-1.', '1e0.'),
      fc.base64String({ maxLength: 24 }),
    )
    .map(([worker, rest]) => worker + rest),
);
const parameter = {
  EIO: oneOf([8, fc.constant('4')], fc.constantFrom('3', '2', '5', '04', '4.0'), text),
  transport: oneOf([8, fc.constantFrom('polling', 'websocket')], fc.constantFrom('POLLING', 'webtransport'), text),
  sid: oneOf([1, fc.constant(undefined)], [3, unknownSid]),
};
const headers = fc.dictionary(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'x-forwarded-for',
    'cookie',
    'accept-encoding',
    'user-agent',
    'content-type',
    'authorization',
  ),
  fc.string({ minLength: 1, maxLength: 60 }).filter((value) => value.trim() === value),
  { maxKeys: 3, noNullPrototype: false },
);

const handshake = fc.record({
  method: oneOf([6, fc.constant('GET')], fc.constantFrom('POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PURGE')),
  isUpgrade: oneOf([5, fc.constant(false)], fc.constant(true)),
  parameters: fc.record(parameter),
  extra: fc.array(fc.tuple(text, text), { maxLength: 2 }),
  headers,
  body: fc.constantFrom('', '', '4x', '40'),
});

export const weight = 18;
export const arbitrary = upTo(40, handshake);

/** Five of them, percent-encoded, must fit into one request's header. */
const MAX_CHARACTERS = 60;
const cut = (value) => value.toWellFormed().slice(0, MAX_CHARACTERS);

export async function play(handshakes, { port, use }) {
  let connection = new Connection(port);
  use(() => connection.end());
  for (const { method, isUpgrade, parameters, extra, headers: sent, body } of handshakes) {
    // What came last counts, so the parameters that matter come behind the others.
    const all = [
      ...extra.filter(([name]) => !(name in parameter)),
      ...Object.entries(parameters).filter(([, value]) => value !== undefined),
    ].map((pair) => pair.map(cut));
    const path = `/socket.io/?${all.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`;
    connection = connection.reusable(port);
    const asUpgrade = isUpgrade && method === 'GET';
    connection.write(
      asUpgrade ? upgradeRequest(path, sent) : request(method, path, sent, method === 'GET' ? '' : body),
    );
    const response = await connection.response();
    const known = Object.fromEntries(all.filter(([name]) => name in parameter));
    const want = handshakeReply(method, known, asUpgrade);
    connection = connection.reusable(port);
    expectSame(await gotFrom(response, connection, known.transport), want, path);
    if (response.status === 101) connection.end();
  }
  return handshakes.length;
}

/** The number of the error, or 'ok'. Sessions that were not meant to be are ended. */
async function gotFrom(response, connection, transport) {
  if (response?.status === 101) return 'ok';
  if (response?.status !== 200) return response ? JSON.parse(response.body).code : 'closed';
  const { sid } = JSON.parse(response.body.slice(1));
  await connection.write(request('POST', `/socket.io/?EIO=4&transport=${transport}&sid=${sid}`, {}, '1')).response();
  return 'ok';
}
