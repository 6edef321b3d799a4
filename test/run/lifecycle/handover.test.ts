import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { type RunningApplication, stopAll } from '../support/application.js';
import { connect, leaveAll, Member, start } from '../support/handover.js';

let talk: NodeJS.Timeout | undefined;

/** Ends what the clients of the test do. */
function end(): void {
  clearInterval(talk);
  leaveAll();
}

/** Reloads the workers, until the clients' sessions are on new ones. */
async function reload(app: RunningApplication, members: readonly Member[]): Promise<void> {
  const before = new Set(await Promise.all(members.map(async (member) => (await member.state()).pid)));
  const start = new Date().toISOString();
  app.process.kill('SIGHUP');
  // Until then, the primary ignores further ones.
  await app.logged(({ msg, time }) => msg === 'reload finished' && String(time) >= start);
  for (const member of members) {
    await until(async () => {
      const state = await member.state().catch(() => undefined);
      return state !== undefined && !before.has(state.pid);
    });
  }
}

describe('a reload of two workers', () => {
  let app: RunningApplication;
  // Longer than the test: all pings come from reloads.
  beforeAll(async () => {
    app = await start({ PING_INTERVAL: '3600000' });
  });
  afterEach(end);
  afterAll(stopAll);

  // The first one needs a release that has not been reloaded.
  test('clients that cannot be handed over connect again', async () => {
    const member = async (name: string, options = {}) => (await connect(app, { [name]: options }))[0]!;
    const stranger = await member('stranger');
    const poller = await member('poller', { transports: ['polling'] });
    const debtor = await member('debtor');
    const sender = await member('sender');
    const slow = await member('slow');
    const flooder = await member('slowFlooder');
    const lost = [poller, debtor, sender];
    for (const one of lost) one.say();
    await until(() => lost.every(({ said }) => said.size === 3));
    // The attachment never follows.
    sender.socket.io.engine.write('51-["say",{"_placeholder":true,"num":0}]');
    debtor.socket.emit('ask me');
    // It never answers.
    await nextEvent(debtor.socket, 'question');
    const rejected = nextEvent<[Error]>(stranger.socket, 'connect_error');
    const reloaded = reload(app, [poller, debtor]);
    // What a client sends meanwhile waits, up to 1 MiB.
    await Promise.all([app.said(/waits: slow /), app.said(/waits: slowFlooder /)]);
    for (let i = 0; i < 3; i++) slow.say();
    for (let i = 0; i < 4; i++) flooder.socket.emit('flood', 'x'.repeat(300_000));
    await nextEvent(flooder.socket, 'disconnect');
    app.process.send('go on');
    await until(() => slow.said.get('slow')?.length === 3);
    expect(slow.said.get('slow')).toEqual([0, 1, 2]);
    expect(slow.disconnects).toBe(0);
    await reloaded;
    expect((await rejected)[0].message).toBe('no');
    await until(() => lost.every(({ disconnects, socket }) => disconnects > 0 && socket.connected));
    for (const { disconnects, socket, id, name } of lost) {
      expect({ name, disconnects, id: socket.id }).toEqual({ name, disconnects: 1, id });
    }
    for (const one of lost) expect((await one.state()).recovered).toBe(true);
  });

  test('clients on WebSockets see nothing of reloads, but a ping each, as they would otherwise wait for one for too long', async () => {
    const members = await connect(app, { a: {}, b: {}, c: {}, d: { transports: ['polling', 'websocket'] } });
    const others = await connect(app, { a: {}, e: {} }, '/second');
    const rooms = [members, others];
    talk = setInterval(() => {
      for (const member of [...members, ...others]) member.say();
    }, 50);
    for (const pings of [1, 2]) {
      await reload(app, [...members, ...others]);
      await until(() => [...members, ...others].every((member) => member.pings >= pings));
    }
    clearInterval(talk);
    for (const room of rooms) {
      for (const { socket, said, disconnects, pings, id } of room) {
        expect({ disconnects, pings, id: socket.id }).toEqual({ disconnects: 0, pings: 2, id });
        for (const { spoken, name } of room) {
          await until(() => said.get(name)?.length === spoken);
          expect(said.get(name)).toEqual(Array.from({ length: spoken }, (_, number) => number));
        }
      }
    }
  });

  test('clients of a held WebSocket survive a killed new worker, and a stop ends workers that hold', async () => {
    const members = await connect(app, { a: {}, b: {}, c: {} });
    members[0]!.say();
    await until(() => members.every(({ said }) => said.get('a')?.length === 1));
    // They hear nothing from the new worker.
    await reload(app, members);
    const { pid } = await members[0]!.state();
    const returned = nextEvent(members[0]!.socket, 'connect');
    process.kill(pid, 'SIGKILL');
    await returned;
    const state = await members[0]!.state();
    expect(state.recovered).toBe(true);
    expect(state.pid).not.toBe(pid);
    expect(members[0]!.socket.id).toBe(members[0]!.id);
    // The reload that is in progress now would hand over again.
    const now = new Date().toISOString();
    app.process.kill('SIGHUP');
    await app.logged(({ msg, time }) => msg === 'reload started' && String(time) >= now);
    expect(await app.stop()).toBe(0);
  });
});

describe('a reload of an application with settings of its own', () => {
  afterEach(async () => {
    end();
    await stopAll();
  });

  test('clients that are still connecting to a namespace are handed over later', async () => {
    const app = await start({ WORKERS: '1', DRAIN_TIMEOUT: '20s' });
    const first = await connect(app, { first: {}, other: {} });
    const late = new Member(app.url, 'late');
    const second = first[1]!.also('/second', 'later');
    await Promise.all([app.said(/^waits: late /), app.said(/^waits: later /)]);
    app.process.kill('SIGHUP');
    // All of them had their turn then.
    await app.said(/^recovered by/);
    const connected = [late.connected(), nextEvent(second, 'connect')];
    app.process.send('go on');
    await Promise.all(connected);
    const { id } = second;
    const members = [...first, late];
    const { pid } = await first[0]!.state();
    await app.logged(({ msg }) => msg === 'reload finished');
    for (const member of members) {
      expect({ disconnects: member.disconnects, id: member.socket.id }).toEqual({ disconnects: 0, id: member.id });
      expect(await member.state()).toEqual({ pid, recovered: true });
    }
    expect(await second.emitWithAck('state')).toEqual({ pid, recovered: true });
    expect(second.id).toBe(id);
  });

  test('a worker holds WebSockets for the configured time', async () => {
    const app = await start({ RELOAD_HOLD: '2s', WORKERS: '1' });
    const [member] = (await connect(app, { a: {} })) as [Member];
    const { pid } = await member.state();
    // A client that has never received an event could not be recovered, as with stock Socket.IO.
    member.say();
    await until(() => member.said.get('a')?.length === 1);
    const returned = nextEvent(member.socket, 'connect');
    await reload(app, [member]);
    await returned;
    const gone = await app.logged(({ msg, pid: worker }) => msg === 'stopping' && worker === pid);
    expect(gone).toMatchObject({ recovered: 1, failed: 0 });
    expect(member.disconnects).toBe(1);
    expect(member.socket.id).toBe(member.id);
    expect((await member.state()).recovered).toBe(true);
  });

  test.each([
    ['34 s', '34000', 0],
    ['36 s', '36000', 1],
  ])(
    'clients that may hear nothing for 45 s, and %s from the new release, lose nothing',
    async (_name, next, disconnects) => {
      const app = await start({ WORKERS: '1', PING_INTERVAL: '25000', NEXT_PING_INTERVAL: next });
      const members = await connect(app, { a: {}, b: {} });
      members[0]!.say();
      await until(() => members.every(({ said }) => said.get('a')?.length === 1));
      await reload(app, members);
      members[0]!.say();
      await until(() => members.every(({ said }) => said.get('a')?.length === 2));
      for (const { disconnects: seen, socket, id } of members) {
        expect({ disconnects: seen, id: socket.id }).toEqual({ disconnects, id });
      }
    },
  );
});
