import { afterEach, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../support/clients.js';
import { until } from '../support/until.js';
import { type RunningApplication, runApp, stopAll } from './support/application.js';

interface State {
  pid: number;
  recovered: boolean;
}

const open: Socket[] = [];

afterEach(async () => {
  for (const socket of open.splice(0)) socket.disconnect();
  await stopAll();
});

/** A client that numbers what it says, and keeps what it hears of each other client. */
class Member {
  readonly socket: Socket;
  readonly said = new Map<string, number[]>();
  disconnects = 0;
  id: string | undefined;
  spoken = 0;

  constructor(
    url: string,
    readonly name: string,
    options: object = {},
  ) {
    const given = { forceNew: true, transports: ['websocket'], reconnectionDelay: 50, auth: { name }, ...options };
    this.socket = io(url, given);
    open.push(this.socket);
    this.socket.on('said', (from: string, number: number) => {
      const numbers = this.said.get(from) ?? [];
      this.said.set(from, numbers);
      numbers.push(number);
    });
    this.socket.on('disconnect', () => this.disconnects++);
  }

  async connected(): Promise<void> {
    await nextEvent(this.socket, 'connect');
    this.id = this.socket.id;
  }

  say(): void {
    this.socket.emit('say', this.spoken++);
  }

  /** Fails if the connection ends before the answer. */
  state(): Promise<State> {
    return this.socket.emitWithAck('state') as Promise<State>;
  }
}

const start = (env: Record<string, string> = {}) =>
  runApp('handover.mjs', { env: { WORKERS: '2', DRAIN_TIMEOUT: '1s', RELOAD_HOLD: '1h', ...env } });

async function connect(app: RunningApplication, options: Record<string, object>, path = ''): Promise<Member[]> {
  const members = Object.entries(options).map(([name, given]) => new Member(app.url + path, name, given));
  await Promise.all(members.map((member) => member.connected()));
  return members;
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

test('clients on WebSockets see nothing of reloads', async () => {
  const app = await start();
  const members = await connect(app, { a: {}, b: {}, c: {}, d: { transports: ['polling', 'websocket'] } });
  const others = await connect(app, { a: {}, e: {} }, '/second');
  const rooms = [members, others];
  const talk = setInterval(() => {
    for (const member of [...members, ...others]) member.say();
  }, 50);
  await reload(app, [...members, ...others]);
  await reload(app, [...members, ...others]);
  clearInterval(talk);
  for (const room of rooms) {
    for (const { socket, said, disconnects, id } of room) {
      expect({ disconnects, id: socket.id }).toEqual({ disconnects: 0, id });
      for (const { spoken, name } of room) {
        await until(() => said.get(name)?.length === spoken);
        expect(said.get(name)).toEqual(Array.from({ length: spoken }, (_, number) => number));
      }
    }
  }
  expect(await app.stop()).toBe(0);
});

test('clients that cannot be handed over connect again', async () => {
  const app = await start();
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
  await Promise.all([app.said(/waits: slow$/), app.said(/waits: slowFlooder/)]);
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

test('a worker holds WebSockets for the configured time', async () => {
  const app = await start({ RELOAD_HOLD: '2s' });
  const [member] = (await connect(app, { a: {} })) as [Member];
  const { pid } = await member.state();
  await reload(app, [member]);
  // A client that has never received an event could not be recovered, as with stock Socket.IO.
  member.say();
  await until(() => member.said.get('a')?.length === 1);
  await nextEvent(member.socket, 'connect');
  const gone = await app.logged(({ msg, pid: worker }) => msg === 'stopping' && worker === pid);
  expect(gone).toMatchObject({ recovered: 1, failed: 0 });
  expect(member.disconnects).toBe(1);
  expect(member.socket.id).toBe(member.id);
  expect((await member.state()).recovered).toBe(true);
});

test('clients of a held WebSocket survive a killed new worker, and a stop ends workers that hold', async () => {
  const app = await start({ DRAIN_TIMEOUT: '2s' });
  const members = await connect(app, { a: {}, b: {}, c: {} });
  await reload(app, members);
  members[0]!.say();
  await until(() => members.every(({ said }) => said.get('a')?.length === 1));
  const { pid } = await members[0]!.state();
  const returned = nextEvent(members[0]!.socket, 'connect');
  process.kill(pid, 'SIGKILL');
  await returned;
  const state = await members[0]!.state();
  expect(state.recovered).toBe(true);
  expect(state.pid).not.toBe(pid);
  expect(members[0]!.socket.id).toBe(members[0]!.id);
  // The reload that is in progress now would hand over again.
  app.process.kill('SIGHUP');
  await app.logged(({ msg }) => msg === 'reload started');
  expect(await app.stop()).toBe(0);
});
