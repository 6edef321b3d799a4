import { looksLikeSocketId } from '../socket-id.js';
import type { RecoveryHost } from './host.js';
import type { PacketLog } from './kept/packet-log.js';
import type { KeptSession, Sessions } from './kept/sessions.js';
import { type KeptPacket, Stream } from './kept/stream.js';
import { TakenSessions } from './kept/taken.js';
import type { LiveSessions } from './live-sessions.js';
import type { LiveState, RecoveryMessage, SessionState } from './messages.js';
import { Replicas } from './replicas.js';
import { Requests } from './requests.js';

/** How long a worker waits for a session that another worker has, in ms. */
const MAX_WAIT_MS = 2000;
/** How long it waits for workers of other machines, which answer only if they have the session, in ms. */
const MAX_WAIT_FOR_MACHINES_MS = 300;
/** Rooms of sockets that have members on other workers. */
const MAX_SHARED = 10_000;
/** The number of sessions in one message with history. */
const CHUNK_SESSIONS = 100;

type History = Extract<RecoveryMessage, { type: 'history' }>;

/** The parts of a namespace that messages of other workers change. */
export interface Owner {
  readonly nsp: { readonly name: string };
  readonly log: PacketLog;
  readonly sessions: Sessions;
  readonly live: LiveSessions;
  /** Delivers a broadcast that this worker should have received, but only another one has. */
  deliver(sender: string, packet: KeptPacket): void;
  /** Keeps the session of a worker, which is disconnected, and tells the other workers. */
  keepSession(state: LiveState, worker: string, direct: Stream): void;
}

/** What the workers tell each other about one namespace. */
export class Peers {
  /** Resolves when this worker has what the others had kept before it started. */
  readonly ready: Promise<void>;
  private readonly replicas: Replicas;
  private readonly taken: TakenSessions;
  private readonly shared = new Set<string>();
  /** Workers that soon keep nothing any more. */
  private readonly leaving = new Set<number>();
  private readonly requests = new Requests(MAX_WAIT_MS);
  private teacher: number | undefined;
  /** The workers whose history this one waits for. */
  private readonly teaching = new Set<number>();
  private learnt: () => void = () => {};

  constructor(
    private readonly recovery: Owner,
    private readonly host: RecoveryHost,
  ) {
    this.replicas = new Replicas(host.memory);
    this.taken = new TakenSessions(host.bounds);
    this.ready = new Promise((resolve) => {
      this.learnt = resolve;
    });
    setTimeout(() => this.learnt(), MAX_WAIT_MS).unref();
    void host.subscribed().then(() => {
      recovery.log.start();
      this.ask();
    });
  }

  private get nsp(): string {
    return this.recovery.nsp.name;
  }

  /**
   * Asks the oldest worker of the machine for its history. The last packets of the other ones may still be on their way to
   * it, and may have reached this worker before it could keep them, so that their senders are asked, too.
   */
  private ask(): void {
    const [teacher, ...others] = [...this.host.members].sort((a, b) => a - b);
    this.teacher = teacher;
    if (teacher === undefined) return this.learnt();
    this.teaching.add(teacher);
    this.host.send(teacher, { type: 'ask', nsp: this.nsp });
    for (const other of others) {
      this.teaching.add(other);
      this.host.send(other, { type: 'ask', nsp: this.nsp, isOwn: true });
    }
  }

  /** The worker that keeps copies of this worker's sessions. */
  buddy(): number | undefined {
    return this.host.buddy(this.leaving);
  }

  /** Whether a socket on another worker has joined the room of a socket here. */
  isShared(room: string): boolean {
    return this.shared.has(room);
  }

  joined(room: string): void {
    if (!looksLikeSocketId(room) || this.recovery.live.of(room)) return;
    this.host.tellAll({ type: 'joined', nsp: this.nsp, room });
  }

  /** Keeps a session, here and on the other workers. */
  share(session: KeptSession): void {
    const message = { type: 'session', nsp: this.nsp, session: sessionState(session) } as const;
    const bytes = this.host.tellAll(message);
    this.recovery.sessions.put({ ...session, bytes });
  }

  /** Takes a session from the worker that keeps it. */
  async findSession(pid: string): Promise<KeptSession | undefined> {
    const { sessions, live } = this.recovery;
    if (!live.get(pid)) {
      const known = this.take(pid);
      if (known) return known;
    }
    await new Promise<void>((resolve) => {
      const end = () => {
        stop();
        clearTimeout(timer);
        resolve();
      };
      const stop = sessions.onPut(pid, end);
      const timer = setTimeout(end, this.host.spansMachines ? MAX_WAIT_FOR_MACHINES_MS : MAX_WAIT_MS);
      const here = live.get(pid);
      // Its client returns before the old connection has been found dead.
      if (here) return here.socket.conn.close(true);
      const isAsked = this.request(pid, end);
      if (!isAsked && !this.host.spansMachines) end();
    });
    return this.take(pid);
  }

  private take(pid: string): KeptSession | undefined {
    const session = this.recovery.sessions.take(pid);
    if (!session) return undefined;
    const recoveries = (session.recoveries ?? 0) + 1;
    this.taken.add({ pid, recoveries });
    const message = { type: 'taken', nsp: this.nsp, pid, recoveries } as const;
    const buddy = this.buddy();
    // Before the others drop their copies. This worker may be killed while it recovers the session.
    if (buddy !== undefined) this.host.send(buddy, { ...message, isBuddy: true });
    this.host.tellAll(message);
    return { ...session, recoveries };
  }

  /**
   * Asks all workers for a session.
   * @param onNone called when none of this machine has it, and no other machine can
   */
  private request(pid: string, onNone: () => void): boolean {
    const { members, spansMachines } = this.host;
    if (members.length === 0 && !spansMachines) return false;
    const request = this.requests.start(members, spansMachines ? undefined : onNone);
    this.host.tellAll({ type: 'find', nsp: this.nsp, pid, request });
    return members.length > 0;
  }

  /** Resolves when the other workers of the machine have received everything, and keep no copies here any more. */
  async leave(): Promise<void> {
    const { members } = this.host;
    if (members.length === 0) return;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, MAX_WAIT_MS).unref();
      const request = this.requests.start(members, resolve);
      const message = { type: 'find', nsp: this.nsp, pid: '', request, isLeaving: true } as const;
      for (const member of members) this.host.send(member, message);
    });
  }

  receive(from: number | undefined, message: RecoveryMessage): void {
    const { sessions, live, log } = this.recovery;
    switch (message.type) {
      case 'session':
        return this.keep(this.sessionOf(message.session));
      case 'taken':
        if (message.isBuddy && from !== undefined) {
          return this.taken.addFor(from, message, sessions.take(message.pid));
        }
        this.taken.add(message);
        return sessions.drop(message.pid);
      case 'joined':
        if (this.shared.size < MAX_SHARED) this.shared.add(message.room);
        return;
      case 'find':
        if (message.isLeaving && from !== undefined) this.leaves(from);
        return this.answer(from, message.pid, message.request);
      case 'found':
        if (!message.isHere) this.requests.answered(from!, message.request);
        return;
      case 'live':
        if (from === undefined) return;
        this.replicas.apply(from, message);
        for (const { pid } of message.sessions) this.taken.end(pid);
        return;
      case 'ask':
        if (from === undefined) return;
        // It may have closed the namespace, and opened it again.
        this.leaving.delete(from);
        return this.teach(from, message.isOwn);
      case 'history':
        return this.learn(from, message);
      case 'tail': {
        const packets = log.tail(message.sender, message.last);
        if (from === undefined || packets.length === 0) return;
        return this.host.send(from, { type: 'packets', nsp: this.nsp, sender: message.sender, packets });
      }
      case 'packets':
        for (const packet of message.packets) this.recovery.deliver(message.sender, packet);
        live.plan();
    }
  }

  /** Another worker gets the copies before the one that leaves drops them. */
  private leaves(worker: number): void {
    this.leaving.add(worker);
    this.recovery.live.flush();
    this.host.flush();
  }

  /** Keeps a session that another worker has sent. */
  private keep(session: KeptSession): void {
    if (this.settleLate(session)) return;
    this.replicas.drop(session.pid);
    this.taken.end(session.pid);
    this.recovery.sessions.put(session);
  }

  /**
   * Deals with a session that has been taken since it was sent. It is kept only if that has come to nothing.
   * @returns false if it has not been taken since
   */
  private settleLate(session: KeptSession): boolean {
    if (!this.taken.isOutdated(session)) return false;
    const lost = this.taken.receive(session, this.host.members);
    if (lost) this.share(lost);
    return true;
  }

  private answer(from: number | undefined, pid: string, request: number): void {
    const { sessions, live } = this.recovery;
    const kept = sessions.get(pid);
    const connected = live.get(pid);
    if (kept && !connected) {
      const message = { type: 'session', nsp: this.nsp, session: sessionState(kept) } as const;
      if (from === undefined) this.host.tellAll(message);
      else this.host.send(from, message);
    }
    connected?.socket.conn.close(true);
    if (from === undefined) return;
    const isHere = kept !== undefined || connected !== undefined || this.replicas.has(pid) || this.taken.has(pid);
    this.host.send(from, { type: 'found', nsp: this.nsp, request, isHere });
  }

  private teach(to: number, isOwn = false): void {
    const { log, sessions } = this.recovery;
    const parts: Pick<History, 'streams' | 'sessions'>[] = [];
    for (const stream of isOwn ? log.ownEnd() : log.parts()) parts.push({ streams: [stream], sessions: [] });
    const states = isOwn ? [] : [...sessions.all()].map(sessionState);
    for (let at = 0; at < states.length; at += CHUNK_SESSIONS) {
      parts.push({ streams: [], sessions: states.slice(at, at + CHUNK_SESSIONS) });
    }
    const { since } = log;
    const next = () => {
      const part = parts.shift() ?? { streams: [], sessions: [] };
      const isLast = parts.length === 0;
      this.host.send(to, { type: 'history', nsp: this.nsp, since, ...part, isLast });
      // In between, this worker serves its clients.
      if (!isLast) setImmediate(next);
    };
    next();
  }

  private learn(from: number | undefined, { streams, sessions, since, isLast }: History): void {
    const { log } = this.recovery;
    for (const stream of streams) {
      log.learn(stream);
      for (const packet of stream.packets) this.recovery.deliver(stream.sender, packet);
    }
    for (const state of sessions) {
      if (this.recovery.sessions.get(state.pid)) continue;
      const session = this.sessionOf(state);
      if (!this.settleLate(session)) this.recovery.sessions.put(session);
    }
    if (!isLast) return;
    if (from === this.teacher) {
      log.since = Math.min(log.since, since);
      this.teacher = undefined;
    }
    this.learntFrom(from!);
  }

  private learntFrom(worker: number): void {
    if (this.teaching.delete(worker) && this.teaching.size === 0) this.learnt();
  }

  private sessionOf({ direct, ...state }: SessionState): KeptSession {
    const stream = new Stream(this.host.memory);
    stream.prepend(direct.packets, direct.floor, direct.floorAt);
    return { ...state, direct: stream, bytes: this.host.bytesOfLast };
  }

  workerGone(id: number): void {
    this.leaving.delete(id);
    for (const replica of this.replicas.takeAll(id)) {
      if (this.recovery.sessions.get(replica.pid) || this.recovery.live.get(replica.pid)) replica.direct.release();
      else this.recovery.keepSession(replica, replica.worker, replica.direct);
    }
    for (const session of this.taken.takeFrom(id)) this.share(session);
    const sender = this.host.nameOf(id);
    if (sender !== undefined) {
      this.recovery.log.end(sender);
      const last = this.recovery.log.lastOf(sender);
      this.host.tellAll({ type: 'tail', nsp: this.nsp, sender, last });
    }
    this.requests.leave(id);
    if (this.teacher === id) this.ask();
    this.learntFrom(id);
  }

  sweep(oldest: number): void {
    this.taken.sweep(oldest);
  }

  close(): void {
    this.replicas.close();
    this.taken.close();
    this.learnt();
  }
}

function sessionState({ direct, bytes: _, ...state }: KeptSession): SessionState {
  const { floor, floorAt, last, lastAt, kept } = direct;
  return { ...state, direct: { floor, floorAt, last, lastAt, packets: kept } };
}
