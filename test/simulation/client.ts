import type { Random } from '../io/rooms/support/random.js';
import { ClientSocket } from './client-socket.js';
import { Connection } from './connection.js';
import { accept, type Worker } from './machine.js';
import type { Model, Session } from './model.js';
import { Violation } from './model.js';
import { Process, RIGHT, type Scheduler } from './scheduler.js';

/** How long a client waits until it returns, at most, in ms. */
const MAX_AWAY_MS = 400;
/** How long it waits for the answer of a server, in ms. */
const MAX_CONNECTING_MS = 8000;
/** How many attempts it gives up before one succeeds. */
const MAX_GIVEN_UP = 2;

interface World {
  readonly scheduler: Scheduler;
  readonly model: Model;
  /** The workers that accept connections. */
  workers(): readonly Worker[];
  /** Whether a client must be recovered that returns now. */
  mustRecover(session: Session): boolean;
}

/** A client as socket.io-client: it sends the offset of the last packet that it has handled, and returns by itself. */
export class Client {
  readonly process: Process;
  session: Session | undefined;
  /** Whether its server has said that it is connected. */
  isConnected = false;
  private connection: Connection | undefined;
  private pid: string | undefined;
  private offset: string | undefined;
  /** What has come before the answer to CONNECT. */
  private early: unknown[][] = [];
  /** What an application has of it. */
  readonly socket = new ClientSocket((packet) => this.connection?.send(packet));
  private isLeaving = false;
  private attempts = 0;
  /** Attempts since it was connected last. */
  private givenUp = 0;
  private readonly random: Random;

  constructor(
    readonly name: string,
    private readonly world: World,
  ) {
    this.process = new Process(name, RIGHT);
    this.random = world.scheduler.random(`client ${name}`);
  }

  /** Connects to a worker, by default to any. */
  connect(): void {
    if (this.connection || this.isLeaving) return;
    const { scheduler } = this.world;
    const workers = this.world.workers();
    if (workers.length === 0) return this.later(100);
    const worker = this.random.pick(workers);
    const attempt = ++this.attempts;
    const connection = new Connection(scheduler, `${this.name}.${attempt}`, worker.process, this.process, {
      onPacket: (packet) => this.connection === connection && this.onPacket(packet),
      onClosed: () => this.connection === connection && this.onClosed(),
    });
    this.connection = connection;
    this.early = [];
    connection.begin(() => accept(worker, connection));
    const { pid, offset, name } = this;
    connection.send(`0${JSON.stringify(pid ? { pid, offset, name } : { name })}`);
    scheduler.add(scheduler.now + MAX_CONNECTING_MS, this.process, () => {
      if (this.connection === connection && !this.isConnected) connection.cut(0);
    });
  }

  private later(ms: number): void {
    const { scheduler } = this.world;
    scheduler.add(scheduler.now + ms, this.process, () => this.connect());
  }

  private onClosed(): void {
    this.connection = undefined;
    this.isConnected = false;
    this.socket.hasDisconnected();
    if (this.session) Object.assign(this.session, { cutAtMs: this.world.scheduler.now, isAway: true });
    this.later(MAX_AWAY_MS * this.random.next() ** 2);
  }

  private onPacket(packet: string): void {
    const [, digits, text] = /^\d(\d*)(.*)$/s.exec(packet)!;
    const values = JSON.parse(text || 'null');
    switch (packet[0]) {
      case '0':
        return this.onConnected(values as { sid: string; pid: string });
      case '2':
        if (this.isConnected) this.receive(values);
        else this.early.push(values);
        return;
      case '3':
        return this.socket.answered(Number(digits), values[0]);
      default:
        throw new Violation('protocol', `${this.name} has received ${packet}`);
    }
  }

  private onConnected({ sid, pid }: { sid: string; pid: string }): void {
    const { model } = this.world;
    const before = this.session;
    const isRecovered = pid === this.pid;
    this.session = model.sessions.get(sid)!;
    this.session.isAway = false;
    if (isRecovered !== (before === this.session)) throw new Violation('identity', `${this.name} is ${sid}`);
    if (before && !isRecovered && this.world.mustRecover(before))
      throw new Violation('new session', `${this.name} was ${before.sid}, and is ${sid}`);
    if (!isRecovered) this.offset = undefined;
    this.pid = pid;
    this.isConnected = true;
    this.givenUp = 0;
    this.socket.hasConnected(sid, () => {
      for (const one of this.early.splice(0)) this.receive(one);
    });
  }

  private receive(values: unknown[]): void {
    const last = values.at(-1);
    if (typeof last === 'string') this.offset = last;
    if (values[0] === 'm') this.world.model.received(this.session!, values[1] as string, values[2] as number);
    else this.socket.received(values);
  }

  /** Sends an event, with an acknowledgement that nobody waits for. */
  send(event: string, room: string): void {
    if (this.isConnected) this.socket.emit(event, room);
  }

  /** Its connection breaks. @param noticedMs when its server notices */
  cut(noticedMs: number): void {
    // A client that gives up an attempt closes its connection. What was left of it would take the session from the next one.
    if (this.isConnected) return this.connection!.cut(noticedMs);
    // Of more attempts at once, the worker rejects some.
    if (!this.connection || this.givenUp++ >= MAX_GIVEN_UP) return;
    if (this.session) this.session.gaveUpMs = this.world.scheduler.now;
    this.connection.cut(0);
  }

  /** Leaves for good. */
  leave(): void {
    this.isLeaving = true;
    this.connection?.send('1');
    this.connection?.end();
  }
}
