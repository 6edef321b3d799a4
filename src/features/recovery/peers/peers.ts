import { own } from '../../../base/owner.js';
import { within } from '../../../base/within.js';
import { looksLikeSocketId } from '../../../io/rooms/index.js';
import type { Described, RemovalTarget } from '../kept/memory.js';
import { type KeptSession, TakenSessions } from '../kept/sessions.js';
import type { RecoveryMessage, SessionState } from '../messages.js';
import type { RecoveryHost } from '../namespace-recovery.js';
import { HistoryExchange, type HistoryMessage, MachineHistory } from './history.js';
import { Buddies, type Owner } from './loans.js';
import { Replicas, Requests, sessionOf, sessionState } from './replicas.js';

/** How long a worker waits for a session that another worker has, in ms. */
const MAX_WAIT_MS = 2000;
/** How long it waits for workers of other machines, which answer only if they have the session, in ms. */
const MAX_WAIT_FOR_MACHINES_MS = 300;
/** Rooms of sockets that have members on other workers. */
const MAX_SHARED = 10_000;

/** What the workers tell each other about one namespace. */
export class Peers {
  readonly buddies: Buddies;
  /** Resolves when this worker has what the others had kept before it started. */
  readonly ready: Promise<void>;
  private readonly history: HistoryExchange;
  private readonly machineHistory: MachineHistory;
  private readonly replicas: Replicas;
  private readonly taken: TakenSessions;
  private readonly shared = new Set<string>();
  private readonly requests = new Requests(MAX_WAIT_MS);

  constructor(
    private readonly recovery: Owner,
    private readonly host: RecoveryHost,
  ) {
    this.buddies = new Buddies(host);
    this.replicas = new Replicas(host.memory);
    this.taken = new TakenSessions(host.bounds);
    this.history = new HistoryExchange(recovery, host, MAX_WAIT_MS);
    this.machineHistory = new MachineHistory(recovery, host, (sessions) => this.keepAll(sessions));
    const asked = host.subscribed().then(() => {
      recovery.log.start();
      this.history.ask();
    });
    const { ready } = this.history;
    const isSubscribed = asked.then(() => ready);
    this.ready = host.spansMachines ? this.machineHistory.borrowed(ready, isSubscribed) : ready;
  }

  private get nsp(): string {
    return this.recovery.nsp.name;
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
    if (this.recovery.removals.covers(session)) {
      this.recovery.expiries.failed(session);
      return session.direct.release();
    }
    const message = { type: 'session', nsp: this.nsp, session: sessionState(session) } as const;
    this.host.tellAll(message);
    this.recovery.sessions.put(session);
  }

  /**
   * Removes the sessions and copies that the operator ends.
   * @returns the ids of the sockets that were disconnected
   */
  remove(target: RemovalTarget, matches: (session: Described) => boolean): string[] {
    // Their own workers disconnect the sockets that are connected, or take them out of the room.
    if ('room' in target) this.replicas.closeRoom(target.room);
    else this.replicas.removeWhere(matches);
    this.recovery.expiries.endWhere(matches);
    return [...this.recovery.sessions.removeWhere(matches), ...this.taken.removeWhere(matches)];
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
    this.recovery.expiries.forget(pid);
    const message = { type: 'taken', nsp: this.nsp, pid, recoveries } as const;
    const buddy = this.buddies.current;
    // Before the others drop their copies. This worker may be killed while it recovers the session.
    if (buddy !== undefined) this.host.send(buddy, { ...message, isBuddy: true });
    this.host.tellAll(message);
    return { ...session, recoveries };
  }

  /** This worker has reported that the session has expired. To the others, it is as if the client had returned. */
  expired({ pid, recoveries = 0 }: Pick<KeptSession, 'pid' | 'recoveries'>): void {
    this.recovery.sessions.drop(pid);
    this.host.tellAll({ type: 'taken', nsp: this.nsp, pid, recoveries: recoveries + 1 });
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
    const left = new Promise<void>((resolve) => {
      const request = this.requests.start(members, resolve);
      const message = { type: 'find', nsp: this.nsp, pid: '', request, isLeaving: true } as const;
      for (const member of members) this.host.send(member, message);
    });
    await within(MAX_WAIT_MS, left);
  }

  receive(from: number | undefined, message: RecoveryMessage): void {
    const { sessions, live, log } = this.recovery;
    switch (message.type) {
      case 'session':
        return this.keep(sessionOf(message.session, this.host.memory));
      case 'taken':
        this.recovery.expiries.forget(message.pid);
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
        return from === undefined ? undefined : this.asked(from, message.isOwn);
      case 'history':
        return from === undefined ? undefined : this.learn(from, message);
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
    this.buddies.leaves(worker);
    this.recovery.live.flush();
    this.host.flush();
  }

  /** A worker has created the namespace. It knows nothing of what it was sent before. */
  private asked(from: number, isOwn: boolean | undefined): void {
    this.buddies.has(from);
    own('telling another worker the history', this.history.teach(from, isOwn));
    this.recovery.live.tellAgain(from);
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

  private learn(from: number, message: HistoryMessage): void {
    if (!message.isAbsent) this.buddies.has(from);
    this.keepAll(message.sessions);
    this.history.learn(from, message);
    this.recovery.live.plan();
  }

  /** Keeps the sessions of a history. */
  private keepAll(states: readonly SessionState[]): void {
    for (const state of states) {
      if (this.recovery.sessions.get(state.pid)) continue;
      const session = sessionOf(state, this.host.memory);
      if (!this.settleLate(session)) this.recovery.sessions.put(session);
    }
  }

  workerGone(id: number): void {
    this.buddies.gone(id);
    for (const replica of this.replicas.takeAll(id)) {
      if (this.recovery.sessions.get(replica.pid) || this.recovery.live.get(replica.pid)) replica.direct.release();
      else this.recovery.keepSession(replica, replica.worker, replica.direct);
    }
    for (const session of this.taken.takeFrom(id)) this.share(session);
    const sender = this.host.nameOf(id);
    if (sender !== undefined) {
      this.recovery.log.end(sender);
      const { last } = this.recovery.log.headOf(sender);
      this.host.tellAll({ type: 'tail', nsp: this.nsp, sender, last });
    }
    this.requests.leave(id);
    this.history.gone(id);
  }

  sweep(oldest: number): void {
    this.taken.sweep(oldest);
  }

  close(): void {
    this.replicas.close();
    this.taken.close();
    this.history.close();
    this.machineHistory.close();
  }
}
