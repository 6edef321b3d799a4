import type { Server } from 'socket.io';
import { Carrier } from './carrier.js';
import { Client } from './client.js';
import { DURABLE, type DurableClient, Durables } from './durable.js';
import { checkLeftovers, watchKeepers } from './leftovers.js';
import { DURATION_MS, Machine, type Worker } from './machine.js';
import { Model, type Session, Violation } from './model.js';
import { Presences } from './presence.js';
import { Process, RIGHT, Scheduler } from './scheduler.js';
import type { Action, Script } from './script.js';
import { States } from './state.js';

/** How long a simulation may take to come to rest, in ms. */
const QUIET_MS = 30_000;
/** Until nothing is left of clients that have left, in ms: what is kept, and what is swept seldom. */
const EXPIRY_MS = 2 * DURATION_MS + 20_000;
/** How long a machine takes to start, in ms. */
const START_MS = 190;
/** How long a hub takes to be there again, in ms. */
const HUB_MS = 1000;
/** Until machines have compared their state rooms, in ms. */
const MERGE_MS = 35_000;
/** Until a store that was down or silent has done what it was asked to, in ms. */
const STORE_MS = 6000;
/** Until everything has arrived, in ms. */
const ARRIVAL_MS = 9000;

export interface Result {
  readonly failure: Error | undefined;
  readonly steps: number;
}

/** Runs a script on real parts. */
export async function simulate(script: Script): Promise<Result> {
  const scheduler = new Scheduler(script.seed);
  const restore = scheduler.install();
  watchKeepers(() => scheduler.current);
  const simulation = new Simulation(scheduler, script);
  try {
    await simulation.run();
  } catch (error) {
    scheduler.fail(error);
  } finally {
    simulation.close();
    restore();
  }
  return { failure: scheduler.failure, steps: scheduler.steps };
}

class Simulation {
  readonly model: Model;
  private readonly machines: readonly Machine[];
  private readonly clients: readonly Client[];
  /** Where actions come from. */
  private readonly script = new Process('script', RIGHT);
  private readonly carrier: Carrier | undefined;
  private readonly states: States;
  private readonly durables: Durables | undefined;
  private readonly durableClients: readonly DurableClient[];
  private readonly presences: Presences | undefined;
  /** When a fault has occurred after which clients may get new sessions, in ms. */
  private faultMs = Number.NEGATIVE_INFINITY;
  private hubKilledMs = Number.NEGATIVE_INFINITY;
  /** When the first one was killed of those that were killed soon after each other. */
  private hubDownMs = Number.NEGATIVE_INFINITY;

  constructor(
    readonly scheduler: Scheduler,
    private readonly given: Script,
  ) {
    this.model = new Model(() => scheduler.now);
    this.states = new States(
      () => scheduler.now,
      (error) => scheduler.fail(error),
      given.patches,
    );
    const { machines = 1, skewMs = 0, durable, presence, maps } = given;
    if (durable) this.durables = new Durables(scheduler);
    if (presence) this.presences = new Presences();
    if (machines > 1) this.carrier = new Carrier(scheduler);
    const events = { onServer: (io: Server, worker: Worker) => this.serve(io, worker) };
    this.machines = Array.from(
      { length: machines },
      (_, number) => new Machine(`machine${number}`, number * skewMs, scheduler, events, this.carrier),
    );
    this.clients = Array.from({ length: given.clients }, (_, at) => new Client(`c${at}`, this));
    if (maps) for (const { name, socket } of this.clients) this.states.follow(name, socket, machines === 1);
    const { durables } = this;
    this.durableClients = durables ? this.clients.map(({ name, socket }) => durables.clientOf(name, socket)) : [];
  }

  close(): void {
    this.durables?.close();
  }

  workers(): readonly Worker[] {
    return this.machines.flatMap(({ workers }) => [...workers.values()]);
  }

  mustRecover(session: Session): boolean {
    const { now } = this.scheduler;
    if (session.mayEnd) return false;
    // It may be on its way to the machine of an attempt that its client has given up.
    if (this.carrier && now - session.gaveUpMs < DURATION_MS) return false;
    return now - session.cutAtMs < DURATION_MS - 3000 && now - this.faultMs > 2 * DURATION_MS;
  }

  async run(): Promise<void> {
    const { scheduler, machines, clients, given } = this;
    for (const machine of machines) {
      machine.startHub();
      for (let count = 0; count < given.workers; count++) machine.startWorker();
    }
    await scheduler.run(START_MS);
    // Machines take longer to meet.
    await scheduler.run(scheduler.now + QUIET_MS, () => this.workers().length === given.workers * machines.length);
    const late = scheduler.now - START_MS;
    for (const client of clients) client.connect();
    for (const action of given.actions) scheduler.add(late + action[0], this.script, () => this.act(action));
    await scheduler.run(Math.max(scheduler.now, late + (given.actions.at(-1)?.[0] ?? 0)));
    await scheduler.run(scheduler.now + QUIET_MS, () => this.isQuiet);
    if (scheduler.failure) return;
    if (!this.isQuiet) throw new Violation('not quiet', 'some clients are not connected');
    const [last] = this.workers();
    const end = () => {
      this.durables!.hasArrived();
      return this.durables!.end(last!);
    };
    if (this.durables) scheduler.add(scheduler.now + STORE_MS, last!.process, end);
    await scheduler.run(scheduler.now + (machines.length > 1 ? MERGE_MS : ARRIVAL_MS));
    this.check();
    for (const client of this.durableClients) client.close();
    for (const client of clients) client.leave();
    await scheduler.run(scheduler.now + EXPIRY_MS);
    if (!scheduler.failure) checkLeftovers(machines, this.durables, this.presences);
  }

  private get isQuiet(): boolean {
    const workers = this.given.workers * this.machines.length;
    return this.clients.every(({ isConnected }) => isConnected) && this.workers().length >= workers;
  }

  private check(): void {
    if (this.scheduler.failure) return;
    const alive = new Set(this.workers().map(({ name }) => name));
    this.states.complete(this.machines.length === 1);
    this.durables?.complete();
    this.presences?.complete();
    for (const { session } of this.clients) this.model.complete(session!, (sender) => alive.has(sender));
  }

  /** An application. */
  private serve(io: Server, worker: Worker): void {
    const { model } = this;
    const { name } = worker;
    this.states.open({ ...worker, io });
    this.durables?.open({ ...worker, io });
    this.presences?.open({ ...worker, io });
    io.on('connection', (socket) => {
      const client = (socket.handshake.auth as { name: string }).name;
      const rooms = new Set([...socket.rooms].filter((room) => !room.startsWith(DURABLE)));
      const session = model.connected(client, name, socket.id, rooms, socket.recovered);
      this.presences?.track(worker, socket, client);
      socket.on('join', async (room: string, done: () => void) => {
        if (socket.rooms.has(room)) return;
        const membership = model.joining(session, room);
        await socket.join(room);
        model.joined(membership);
        done();
      });
      socket.on('leave', async (room: string) => {
        model.left(session, room);
        await socket.leave(room);
      });
    });
  }

  private act([, kind, one, other = 0]: Action): void {
    const worker = at(this.workers(), one);
    const client = at(this.clients, one)!;
    const machine = at(this.machines, one)!;
    const { now } = this.scheduler;
    switch (kind) {
      case 'all':
        return this.emit(worker, undefined);
      case 'room':
        return this.emit(worker, `room${other}`);
      case 'direct':
        return this.emit(worker, at(this.clients, other)!.session?.sid ?? '');
      case 'join':
      case 'leave':
        return client.send(kind, `room${other}`);
      case 'cut':
        return client.cut(other);
      case 'pause worker':
        if (worker) pause(worker.process, now, other);
        return;
      case 'hold link':
        worker?.machine.holdLink(worker, other);
        return;
      case 'pause hub':
        if (machine.hub) pause(machine.hub.process, now, other);
        return;
      case 'kill worker':
        if (worker && worker.machine.workers.size > 1) this.kill(worker);
        return;
      case 'kill hub':
        this.faultMs = now;
        if (now - this.hubKilledMs > 2 * HUB_MS) this.hubDownMs = now;
        this.hubKilledMs = now;
        if (this.carrier) this.model.interrupted(HUB_MS);
        machine.hub?.process.kill();
        return this.states.hubDown();
      case 'set':
      case 'swap':
      case 'delete':
      case 'own':
      case 'patch':
      case 'churn':
        if (worker)
          this.scheduler.add(now, worker.process, () => {
            if (kind === 'patch') return this.states.patch(worker.name, `patch${other}`);
            if (kind === 'swap') return this.states.swap(worker.name, `swap${other} of ${worker.machine.id}`);
            return this.states[kind](worker.name, other);
          });
        return;
      case 'fail carrier':
        if (!this.carrier) return;
        this.faultMs = now + other;
        this.model.interrupted(other);
        return this.carrier.fail(other);
      case 'post':
        if (worker) this.scheduler.add(now, worker.process, () => this.durables?.post(worker, other));
        return;
      case 'follow':
      case 'unfollow': {
        const { process } = client;
        const follower = at(this.durableClients, one);
        this.scheduler.add(now, process, () => follower?.[kind](`${DURABLE}${other}`));
        return;
      }
      case 'fail store':
        return this.durables?.store.fail(other);
      case 'mute store':
        return this.durables?.store.mute(other);
      case 'slow store':
        return this.durables?.store.slow(other);
      case 'empty store':
        return this.durables?.store.empty();
      case 'restore store':
        return this.durables?.store.restore(other);
      case 'step clock':
        machine.clock.aheadMs = other;
        return;
    }
  }

  private kill({ machine, process, name }: Worker): void {
    const { now } = this.scheduler;
    const runningMs = process.pausedUntil > now ? process.pausedAt : now;
    this.model.killed(name, runningMs);
    // What the worker alone has kept for the next hub goes with it.
    this.states.killed(name, now - this.hubKilledMs < 2 * HUB_MS ? this.hubDownMs - 50 : runningMs);
    if (now - this.hubKilledMs < 2 * HUB_MS) this.states.hubDown();
    process.kill();
    machine.startWorker();
  }

  private emit(worker: Worker | undefined, room: string | undefined): void {
    if (!worker?.io || room === '') return;
    const { io, process, name } = worker;
    this.scheduler.add(this.scheduler.now, process, () => {
      const isDirect = room !== undefined && io!.of('/').sockets.has(room);
      const { number } = this.model.emit(name, room, isDirect);
      (room === undefined ? io! : io!.to(room)).emit('m', name, number);
    });
  }
}

function pause(process: Process, now: number, ms: number): void {
  if (process.pausedUntil <= now) process.pausedAt = now;
  process.pausedUntil = Math.max(process.pausedUntil, now + ms);
}

function at<T>(all: readonly T[], number: number): T | undefined {
  return all[number % all.length];
}
