import fc from 'fast-check';
import { transports } from '../clients.js';
import { expectSame } from '../mismatch.js';
import { own, tokenReply } from '../oracle.js';
import { fields, json, oneOf, text, upTo } from '../values.js';

/** Contents of a CONNECT before authentication: invalid tokens and unknown namespaces. */

const namespace = text.map((name) => `/${name.replaceAll(',', '')}`);

export const weight = 4;
export const arbitrary = (tokens) => {
  const token = oneOf(text, fc.constantFrom(...tokens.map((one) => one.token)), json);
  const connect = { nsp: oneOf([4, fc.constant('/')], [1, namespace]), auth: fields({ token, name: text }) };
  return upTo(10, fc.record(connect));
};

export async function play(connects, { port, transport, tokens, use }) {
  const client = use(await transports[transport].open(port), 'leave');
  for (const { nsp, auth } of connects) {
    const sent = JSON.stringify(auth);
    client.send([`40${nsp === '/' ? '' : `${nsp},`}${sent}`]);
    const answer = await client.next();
    if (answer === undefined) throw new Error('the connection was closed');
    const body = JSON.parse(answer.slice(answer.indexOf('{', nsp === '/' ? 2 : 2 + nsp.length)));
    const got = answer.startsWith('44') ? (body.data?.code ?? body.message) : 'ok';
    expectSame(got, nsp === '/' ? tokenReply(own(JSON.parse(sent), 'token'), tokens) : 'Invalid namespace', {
      nsp,
      auth,
    });
  }
  return connects.length;
}
