import { request } from '../../../harness/connection.js';
import { ENGINE, text } from '../attacker/dial.js';
import { filled, many, SEPARATOR } from '../attacker/kit.js';
import { BOUNDS } from '../verdict.js';
import { probed } from './engine-floods.js';

// The attacker's session is on one worker, its connection on another one: both work for it.

const bounds = { other: BOUNDS.same };

/** A session on another worker, as the connection to the worker that is attacked sees it. */
async function session(attacker) {
  const { path, connection } = await attacker.polling({ worker: attacker.other });
  connection.close();
  return { path, connection: await attacker.http() };
}

const post = (name, body) => ({
  name: `relayed: ${name}`,
  about: 'POSTs to a worker that passes them on',
  bounds,
  run: (attacker) => attacker.postOn(() => session(attacker), body),
});

const pipeline = {
  name: 'relayed: a pipeline of polls, a client that does not read',
  about: 'requests to a worker that passes them on',
  bounds,
  run: (attacker) =>
    attacker.again(async () => {
      const { path, connection } = await session(attacker);
      await attacker.flood(connection.stopReading(), filled(request('GET', path), 477_000));
      connection.close();
    }),
};

const strangers = {
  name: 'relayed: a pipeline for sessions that are not there',
  about: 'their ids name another worker',
  bounds,
  run: (attacker) =>
    attacker.floodOn(
      async () => (await attacker.http()).stopReading(),
      filled(request('GET', `${ENGINE}&transport=polling&sid=${attacker.other}.AAAAAAAAAAAAAAAAAAAA`), 477_000),
    ),
};

/** @type {import('../attacks.js').Attack[]} */
export const relayed = [
  post('an event of 62,000 arguments', `42["z"${',0'.repeat(62_000)}]`),
  post('packets of one character', many(499_999, '3')),
  post('messages', `42["join","a"]${SEPARATOR}${many(20_000, '42["message",{"room":"a","text":"spam"}]')}`),
  post('echoes', many(60_000, '421["echo","x"]')),
  {
    name: 'relayed: probes of an upgrade that is never finished',
    about: '2probe on the WebSocket of a session of another worker',
    bounds,
    run: (attacker) => attacker.floodOn(() => probed(attacker, attacker.other), filled(text('2probe'))),
  },
  pipeline,
  strangers,
];
