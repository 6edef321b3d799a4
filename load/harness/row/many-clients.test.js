import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { foreignProgram } from '../process/foreign.js';
import { ManyClients } from './many-clients.js';
import { Peer } from './peer.js';

const CLIENTS = 300;
const { unavailable } = await foreignProgram(new URL('../../generator/many/', import.meta.url));

test('many clients connect, send, answer heartbeats and receive the message of one of them', {
  skip: unavailable,
}, async () => {
  const peer = await Peer.start('socketio-ws', { pingInterval: 200 });
  const many = await ManyClients.start(peer, CLIENTS);
  try {
    assert.deepEqual(await many.open(0), { connected: CLIENTS, refused: 0 });
    await many.talk(100);
    await many.publish();
    let seen;
    let reached = 0;
    do {
      await sleep(50);
      [seen] = await many.look();
      reached += seen.reach.count;
    } while (seen.counters.received < 3 * CLIENTS || seen.counters.pings < 2 * CLIENTS || reached < CLIENTS);
    const { sent, received, ended, refused, errors } = seen.counters;
    assert.deepEqual({ reached, ended, refused, errors }, { reached: CLIENTS, ended: 0, refused: 0, errors: 0 });
    assert.ok(sent >= received, `${received} answers to ${sent} messages`);
  } finally {
    await peer.stop();
    await many.stop();
  }
});
