import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Crowd } from './crowd.js';
import { foreignProgram } from './foreign.js';
import { Peer } from './peer.js';

const CLIENTS = 300;
const { unavailable } = await foreignProgram(new URL('../generator/many/', import.meta.url));

test('a crowd connects, talks, answers heartbeats and hears what one of it says', { skip: unavailable }, async () => {
  const peer = await Peer.start('socketio-ws', { pingInterval: 200 });
  const crowd = await Crowd.start(peer, CLIENTS);
  try {
    assert.deepEqual(await crowd.open(0), { connected: CLIENTS, refused: 0, isFull: false });
    await crowd.talk(100);
    await crowd.publish();
    let seen;
    let reached = 0;
    do {
      await sleep(50);
      [seen] = await crowd.look();
      reached += seen.reach.count;
    } while (seen.counters.received < 3 * CLIENTS || seen.counters.pings < 2 * CLIENTS || reached < CLIENTS);
    const { sent, received, ended, refused, errors } = seen.counters;
    assert.deepEqual({ reached, ended, refused, errors }, { reached: CLIENTS, ended: 0, refused: 0, errors: 0 });
    assert.ok(sent >= received, `${received} answers to ${sent} messages`);
  } finally {
    await peer.stop();
    await crowd.stop();
  }
});
