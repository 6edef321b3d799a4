import { connect as connectTcp } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { nextEvent } from '../../../support/clients.js';
import { clientFrame, FrameReader, opcodes } from '../../../support/frames.js';
import { until } from '../../../support/until.js';
import { type RunningApplication, runApp, stopAll } from '../support/application.js';
import { disconnectTalkers, reload, Talker, type Told } from '../support/talker.js';
import '../../../support/long.js';

afterEach(disconnectTalkers);
afterAll(stopAll);

const run = (env: Record<string, string> = {}) =>
  runApp('lifecycle/moving.mjs', { env: { GJALLAR_SOCKETS: 'portable', DRAIN_TIMEOUT: '10s', ...env } });

describe('two workers', () => {
  let app: RunningApplication;

  beforeAll(async () => {
    app = await run();
  });

  test('no user is seen to leave and come again', async () => {
    const talkers = await Promise.all(['a', 'b', 'c', 'd'].map((name) => new Talker(app.url, name).begin()));
    await until(async () => (await talkers[0]!.tell()).seen.includes('a,b,c,d'));
    await reload(app);
    for (const talker of talkers) {
      const { seen } = await talker.tell();
      // Once all have arrived at a worker, it has seen all of them at any time.
      expect(seen.slice(seen.indexOf('a,b,c,d'))).toEqual(['a,b,c,d']);
    }
  });

  test('a reload moves clients to new workers: none is disconnected, and nothing is lost or comes twice', async () => {
    const from = app.log.length;
    const polling = { transports: ['polling'] };
    const talkers = await Promise.all(
      Array.from({ length: 9 }, (_, at) => new Talker(app.url, `user${at}`, at < 3 ? polling : {}).begin()),
    );
    const ids = talkers.map(({ socket }) => socket.id);
    await reload(app);
    await reload(app);
    for (const talker of talkers) {
      await talker.expectAll();
      talker.expectBeginnings();
    }
    expect(talkers.map(({ disconnects }) => disconnects)).toEqual(talkers.map(() => []));
    expect(talkers.map(({ connects }) => connects)).toEqual(talkers.map(() => [false, true, true]));
    expect(talkers.map(({ socket }) => socket.id)).toEqual(ids);
    for (const [at, talker] of talkers.entries()) {
      const { visits, rooms, auth, ends } = await talker.tell();
      expect(visits.map(({ recovered }) => recovered)).toEqual([false, true, true]);
      expect(new Set(visits.map(({ pid }) => pid)).size).toBe(3);
      expect(rooms).toEqual(expect.arrayContaining(['all', ids[at]]));
      expect(auth.name).toBe(`user${at}`);
      expect(ends).toEqual(['moved']);
    }
    const ends = app.log.slice(from).filter(({ msg }) => msg === 'stopping');
    expect(ends.reduce((sum, { moved }) => sum + Number(moved), 0)).toBe(2 * talkers.length);
    expect(ends.map(({ failed }) => failed)).toEqual(ends.map(() => 0));
  });
});

describe('one worker', () => {
  let app: RunningApplication;

  beforeAll(async () => {
    app = await run({ WORKERS: '1' });
  });

  test('a client moves with all of its namespaces', async () => {
    const main = await new Talker(app.url, 'main').begin();
    const admin = main.socket.io.socket('/admin');
    if (!admin.connected) await nextEvent(admin, 'connect');
    await reload(app);
    await main.expectAll();
    const told: Told = await admin.emitWithAck('tell');
    expect(told.visits.map(({ recovered }) => recovered)).toEqual([false, true]);
    expect(told.rooms).toEqual(expect.arrayContaining(['all', admin.id]));
    expect(main.disconnects).toEqual([]);
  });

  test('an answer that the application owes comes before its client moves; who never gets one returns by itself', async () => {
    const [waiting, forgotten, other] = await Promise.all(
      ['waiting', 'forgotten', 'other'].map((name) => new Talker(app.url, name).begin()),
    );
    const { visits } = await waiting!.tell();
    const asked = nextEvent(waiting!.socket, 'asked');
    const answer = waiting!.socket.emitWithAck('late');
    forgotten!.socket.emit('never', () => {});
    await asked;
    const moved = nextEvent(other!.socket, 'connect');
    const over = reload(app);
    await moved;
    other!.socket.emit('answer now');
    expect(await answer).toBe(visits[0]!.pid);
    await over;
    expect(waiting!.disconnects).toEqual([]);
    expect((await waiting!.tell()).visits.map(({ recovered }) => recovered)).toEqual([false, true]);
    await until(() => forgotten!.connects.length === 2);
    expect(forgotten!.disconnects).toEqual(['transport close']);
    for (const talker of [waiting!, forgotten!, other!]) talker.expectHeard();
  });

  test('the beginning of a frame goes along, and what comes meanwhile waits', async () => {
    const from = app.log.length;
    const socket = connectTcp(Number(new URL(app.url).port), '127.0.0.1');
    const texts: string[] = [];
    const frames = new FrameReader();
    let isOpen = false;
    socket.on('data', (chunk: Buffer) => {
      let rest = chunk;
      if (!isOpen) rest = chunk.subarray(chunk.indexOf('\r\n\r\n') + 4);
      isOpen = true;
      for (const { payload } of frames.push(rest)) texts.push(payload.toString());
    });
    socket.write(
      'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    const send = (text: string) => clientFrame(opcodes.text, Buffer.from(text));
    await until(() => texts.some((text) => text.startsWith('0{')));
    socket.write(send('40'));
    await until(() => texts.some((text) => text.startsWith('40{')));
    const long = send(`421["text",${JSON.stringify('x'.repeat(100_000))}]`);
    socket.write(long.subarray(0, 30_000));
    const moved = until(() => texts.filter((text) => text.startsWith('40{')).length === 2);
    app.process.kill('SIGHUP');
    await app.logged(({ msg }) => msg === 'reload started', from);
    await moved;
    socket.write(Buffer.concat([long.subarray(30_000), send('422["text","y"]')]));
    await until(() => texts.includes('431[100000]') && texts.includes('432[1]'));
    socket.destroy();
  });
});

test('a move gives a client no new rate limit', async () => {
  const app = await run({ WORKERS: '1', RATE_LIMIT: 'events=20/m' });
  const { socket } = new Talker(app.url, 'talker');
  await nextEvent(socket, 'connect');
  const say = (count: number) => Promise.all(Array.from({ length: count }, () => socket.emitWithAck('tell')));
  await say(15);
  const moved = nextEvent(socket, 'connect');
  await reload(app);
  await moved;
  // More than twice the amount end the connection.
  for (let count = 0; count < 30; count++) socket.emit('text', '');
  await nextEvent(socket, 'disconnect');
});
