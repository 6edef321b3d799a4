import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Peer } from '../../harness/row/peer.js';
import { texts } from '../support/marketdata.js';
import { ByteClient } from './byte-client.js';

const REFERENCE = 'uws';
const TIMING = { pingInterval: 1000, pingTimeout: 1000 };

/**
 * The tests of some peers: each is held to what `uws` answers, to the byte of each frame. A peer that cannot be built or
 * run here is skipped, and says why.
 * @param {string[]} names
 */
export async function testPeers(names) {
  const expected = await answersOf(REFERENCE);
  for (const name of names) testPeer(name, expected);
}

function testPeer(name, expected) {
  describe(name, { concurrency: true }, () => {
    let peer;
    before(async () => {
      peer = await Peer.start(name, TIMING);
    });
    after(() => peer.stop());

    test('answers with the same bytes as uWebSockets.js by hand', async (t) => {
      if (peer.unavailable) return t.skip(peer.unavailable);
      assert.deepEqual(await exchange(peer.port), expected);
    });

    test('drops a client that answers no ping', async (t) => {
      if (peer.unavailable) return t.skip(peer.unavailable);
      const client = await ByteClient.open(peer.port, { answering: false });
      client.send('40');
      await client.ended();
    });

    test('tells CPU time and memory', async (t) => {
      if (peer.unavailable) return t.skip(peer.unavailable);
      const { micros } = await peer.cpu();
      assert.ok(micros > 0);
      const { rss } = await peer.memory();
      assert.ok(rss > 1e6);
    });
  });
}

async function answersOf(name) {
  const peer = await Peer.start(name, TIMING);
  try {
    return await exchange(peer.port);
  } finally {
    await peer.stop();
  }
}

/** Goes once through everything that the benchmarks do. Returns all frames that came but pings, as `normalized`. */
async function exchange(port) {
  const seen = [];
  const client = await ByteClient.open(port);
  const other = await ByteClient.open(port);
  const hear = async (from, count = 1) => {
    for (let i = 0; i < count; i++) seen.push(normalized(await from.frame()));
  };

  for (const each of [client, other]) {
    await hear(each);
    each.send('40');
    await hear(each);
  }
  for (const value of [
    'four',
    'x'.repeat(30),
    'y'.repeat(200),
    'z'.repeat(70_000 / 2),
    'ü "quoted" 👍',
    { a: [1, null] },
    '<&>',
  ]) {
    client.event('echo', value);
    await hear(client);
  }
  client.event('upper', 'a "text" of thirty <characters> é');
  await hear(client);

  client.send('420["join","room"]');
  await hear(client);
  other.send('4217["join","room"]');
  await hear(other);
  client.event('publish', { room: 'room', text: 'first "text" ü' });
  client.event('publish', { room: 'room', text: 'second' });
  await hear(client, 2);
  await hear(other, 2);

  client.event('heartbeat');
  await hear(client, 10);

  // Two rounds: a client that has answered the first ping gets the second.
  await client.pings(2);
  client.event('echo', 'still here');
  await hear(client);
  client.close();
  other.close();
  return seen;
}

/** A frame in hexadecimal, with what differs from session to session and from second to second made the same. */
function normalized({ head, text }) {
  const quote = /^42\["data","(\d) (\d+) /.exec(text);
  if (quote) {
    const [, number, second] = quote;
    assert.equal(text, `42${JSON.stringify(['data', texts(Number(second))[number]])}`);
    return `${head} quote ${number}`;
  }
  return `${head} ${text.replace(/"sid":"[\w-]{20}"/, '"sid":"…"')}`;
}
