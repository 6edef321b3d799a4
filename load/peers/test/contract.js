import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { Peer } from '../../harness/row/peer.js';
import { texts } from '../support/marketdata.js';

const REFERENCE = 'uws';
const TIMING = { pingInterval: 1000, pingTimeout: 1000 };

const addressOf = (port) => `ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`;

/**
 * The tests of some peers: each is held to what `uws` answers, to the byte of each message. A peer that cannot be built or
 * run here is skipped, and says why.
 * @param {string[]} names
 * @param {{ hasRooms: boolean }} options whether they have the events of rooms, too
 */
export async function testPeers(names, { hasRooms }) {
  const reference = await Peer.start(REFERENCE, TIMING);
  const expected = await exchange(reference.port, hasRooms).finally(() => reference.stop());
  for (const name of names) testPeer(name, hasRooms, expected);
}

function testPeer(name, hasRooms, expected) {
  describe(name, { concurrency: true }, () => {
    let peer;
    before(async () => {
      peer = await Peer.start(name, TIMING);
    });
    after(() => peer.stop());
    const check = (title, run) => test(title, (t) => (peer.unavailable ? t.skip(peer.unavailable) : run()));

    check('answers with the same bytes as uWebSockets.js by hand', async () => {
      assert.deepEqual(await exchange(peer.port, hasRooms), expected);
    });

    check('drops a client that answers no ping', async () => {
      const ws = new WebSocket(addressOf(peer.port));
      ws.once('open', () => ws.send('40'));
      await once(ws, 'close');
    });

    check('tells CPU time and memory', async () => {
      assert.ok(peer.cpu().micros > 0);
      const { rss } = await peer.memory();
      assert.ok(rss > 1e6);
    });
  });
}

/** A client that answers pings. */
class Client {
  static async open(port) {
    const client = new Client();
    client.ws = new WebSocket(addressOf(port));
    client.ws.on('message', (data) => data.toString() === '2' && client.ws.send('3'));
    client.messages = on(client.ws, 'message', { close: ['close'] });
    await once(client.ws, 'open');
    return client;
  }

  event(...event) {
    this.ws.send(`42${JSON.stringify(event)}`);
  }

  /** The next message, or the next that is no ping. Nothing is waited for in vain: the pings come on and on. */
  async next(withPings = false) {
    for (;;) {
      const { value, done } = await this.messages.next();
      if (done) throw new Error('the peer closed the connection');
      const text = value[0].toString();
      if (withPings || text !== '2') return text;
    }
  }
}

/** Goes once through everything that the benchmarks do. Returns all messages that came, as `normalized`. */
async function exchange(port, hasRooms) {
  const seen = [];
  const client = await Client.open(port);
  const other = await Client.open(port);
  const hear = async (from, count = 1) => {
    for (let i = 0; i < count; i++) seen.push(normalized(await from.next()));
  };

  for (const each of [client, other]) {
    await hear(each);
    each.ws.send('40');
    await hear(each);
  }
  const long = 'z'.repeat(70_000 / 2);
  for (const value of ['four', 'x'.repeat(30), 'y'.repeat(200), long, 'ü "quoted" 👍', { a: [1, null] }, '<&>']) {
    client.event('echo', value);
    await hear(client);
  }
  if (hasRooms) {
    client.event('upper', 'a "text" of thirty <characters> é');
    await hear(client);
    client.ws.send('420["join","room"]');
    await hear(client);
    other.ws.send('4217["join","room"]');
    await hear(other);
    client.event('publish', { room: 'room', text: 'first "text" ü' });
    client.event('publish', { room: 'room', text: 'second' });
    await hear(client, 2);
    await hear(other, 2);
  }
  client.event('heartbeat');
  await hear(client, 10);

  // Two rounds: a client that has answered the first ping gets the second.
  for (let round = 0; round < 2; round++) assert.equal(await client.next(true), '2');
  client.event('echo', 'still here');
  await hear(client);
  for (const { ws } of [client, other]) ws.terminate();
  return seen;
}

/** A message with what differs from session to session and from second to second made the same. */
function normalized(text) {
  const quote = /^42\["data","(\d) (\d+) /.exec(text);
  if (!quote) return text.replace(/"sid":"[\w-]{20}"/, '"sid":"…"');
  const [, number, second] = quote;
  assert.equal(text, `42${JSON.stringify(['data', texts(Number(second))[number]])}`);
  return `quote ${number}`;
}
