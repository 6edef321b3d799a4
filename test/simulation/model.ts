/** A message that a worker has emitted. */
export interface Emission {
  readonly sender: string;
  /** Its number among those of its sender. */
  readonly number: number;
  /** A room, or the id of a socket; undefined for all. */
  readonly room: string | undefined;
  readonly order: number;
  readonly atMs: number;
  /** Whether it was sent by the worker of the socket that it is for, so that no other worker had it. */
  readonly isDirect: boolean;
  /** Whether some client has received it. */
  isReceived: boolean;
}

/** That a session is in a room, as its server has it. */
interface Membership {
  readonly room: string | undefined;
  /** From which emission on it gets all; undefined until the server says that others know of it. */
  from: number | undefined;
  readonly atMs: number;
  to: number | undefined;
  toMs: number;
  /** Whether the worker was killed so soon that nobody else may know. */
  isDoubtful: boolean;
}

/** One session of a client, which continues on other workers if it is recovered. */
export class Session {
  readonly memberships: Membership[] = [];
  /** What the client has received, by sender. */
  readonly received = new Map<string, { last: number; readonly numbers: Set<number> }>();
  readonly doubtful = new Set<Emission>();
  /** The name of the worker that has it. */
  worker = '';
  connectedAtMs = 0;
  /** When its client last gave up an attempt to return. */
  gaveUpMs = Number.NEGATIVE_INFINITY;
  /** When its client was cut off. */
  cutAtMs = 0;
  /** Whether its client knows that it is not connected. */
  isAway = false;
  /** Whether it need not be recovered. */
  mayEnd = false;

  constructor(
    readonly sid: string,
    readonly client: string,
  ) {}

  isIn(room: string): Membership | undefined {
    return this.memberships.find((one) => one.room === room && one.to === undefined);
  }

  /** Whether its client must receive a message, unless the session ends. */
  mustReceive(emission: Emission): boolean {
    if (this.doubtful.has(emission)) return false;
    return this.memberships.some(
      ({ room, from, to, isDoubtful }) =>
        room === emission.room &&
        !isDoubtful &&
        from !== undefined &&
        from <= emission.order &&
        emission.order < (to ?? Number.POSITIVE_INFINITY),
    );
  }

  hasJoined(room: string | undefined): boolean {
    return this.memberships.some((one) => one.room === room);
  }
}

/** A promise that was broken. */
export class Violation extends Error {
  /** @param rule the same for all scripts that show the same fault */
  constructor(
    readonly rule: string,
    details: string,
  ) {
    super(`${rule}: ${details}`);
  }
}

/** How long messages between machines may be on their way before an interruption, and after it, in ms. */
const BEFORE_MS = 1000;
const AFTER_MS = 2500;

const machineOf = (worker: string) => worker.split('w')[0];

/** The last moments before a worker is killed, which nobody else may know: docs/guarantees.md. */
const DOUBT_MS = 12;

/** What each client may have received, and must have. It is told of everything in the order in which it happens. */
export class Model {
  readonly sessions = new Map<string, Session>();
  readonly emissions = new Map<string, Emission[]>();
  private order = 0;
  /** Until when messages between machines may be lost. */
  private riskyUntilMs = 0;

  constructor(private readonly now: () => number) {}

  emit(sender: string, room: string | undefined, isDirect: boolean): Emission {
    const known = this.emissions.get(sender) ?? [];
    this.emissions.set(sender, known);
    const emission = {
      ...{ sender, number: known.length + 1, room, isDirect, isReceived: false },
      ...{ order: ++this.order, atMs: this.now() },
    };
    known.push(emission);
    if (this.now() < this.riskyUntilMs) this.mayBeLost(emission);
    return emission;
  }

  /** The way between machines is interrupted. Clients that are away get what they miss when they return. */
  interrupted(ms: number): void {
    this.riskyUntilMs = Math.max(this.riskyUntilMs, this.now() + ms + AFTER_MS);
    for (const sent of this.emissions.values())
      for (const one of sent) if (one.atMs > this.now() - BEFORE_MS) this.mayBeLost(one);
  }

  private mayBeLost(emission: Emission): void {
    for (const session of this.sessions.values())
      if (!session.isAway && machineOf(session.worker) !== machineOf(emission.sender)) session.doubtful.add(emission);
  }

  /** A server has connected a client. */
  connected(client: string, worker: string, sid: string, rooms: ReadonlySet<string>, isRecovered: boolean): Session {
    const known = this.sessions.get(sid);
    if (isRecovered !== (known !== undefined)) throw new Violation('identity', `${sid} of ${client}`);
    const session = known ?? new Session(sid, client);
    this.sessions.set(sid, session);
    if (known) this.compare(known, rooms);
    else for (const room of [undefined, sid]) this.joined(this.joining(session, room));
    Object.assign(session, { worker, connectedAtMs: this.now(), mayEnd: false });
    return session;
  }

  /** A recovered client has its rooms, as far as others could know of them. */
  private compare(session: Session, rooms: ReadonlySet<string>): void {
    const { memberships, sid, client } = session;
    for (const one of memberships) {
      if (one.room === undefined || one.to !== undefined || rooms.has(one.room)) continue;
      if (!one.isDoubtful && one.from !== undefined)
        throw new Violation('rooms', `${client} (${sid}) has lost the room ${one.room}`);
      one.to = ++this.order;
    }
    for (const room of rooms) {
      const known = session.isIn(room);
      if (known) {
        known.from ??= ++this.order;
        known.isDoubtful = false;
        continue;
      }
      const left = memberships.findLast((one) => one.room === room);
      if (!left?.isDoubtful) throw new Violation('rooms', `${client} (${sid}) is in the room ${room} again`);
      this.joined(this.joining(session, room));
    }
  }

  joining(session: Session, room: string | undefined): Membership {
    const made = { room, from: undefined, atMs: this.now(), to: undefined, toMs: 0, isDoubtful: false };
    session.memberships.push(made);
    return made;
  }

  joined(membership: Membership): void {
    membership.from ??= ++this.order;
  }

  left(session: Session, room: string): void {
    const known = session.isIn(room);
    if (!known) return;
    Object.assign(known, { to: ++this.order, toMs: this.now() });
    // What is on its way reaches nobody who has left.
    for (const sent of this.emissions.values()) {
      for (let at = sent.length - 1; at >= 0 && sent[at]!.order >= (known.from ?? 0); at--)
        if (sent[at]!.room === room) session.doubtful.add(sent[at]!);
    }
  }

  /** @param runningMs when it was last running */
  killed(worker: string, runningMs: number): void {
    const since = runningMs - DOUBT_MS;
    for (const session of this.sessions.values()) {
      if (session.worker !== worker) continue;
      if (session.connectedAtMs > since) session.mayEnd = true;
      for (const one of session.memberships) if (Math.max(one.atMs, one.toMs) > since) one.isDoubtful = true;
      for (const one of this.emissions.get(worker) ?? [])
        if (one.isDirect && one.room === session.sid && one.atMs > since) session.doubtful.add(one);
    }
  }

  received(session: Session, sender: string, number: number): void {
    const { sid, client } = session;
    const sent = this.emissions.get(sender)!;
    const emission = sent[number - 1]!;
    emission.isReceived = true;
    const known = session.received.get(sender) ?? { last: 0, numbers: new Set<number>() };
    session.received.set(sender, known);
    const what = `${client} (${sid}) has received ${sender}:${number} to ${emission.room ?? 'all'}`;
    if (known.numbers.has(number)) throw new Violation('at most once', what);
    if (!session.hasJoined(emission.room)) throw new Violation('not for it', what);
    known.numbers.add(number);
    if (number < known.last) {
      if (session.mustReceive(emission)) throw new Violation('order', `${what} after ${known.last}`);
      return;
    }
    for (const before of sent.slice(known.last, number - 1)) {
      if (!known.numbers.has(before.number) && session.mustReceive(before))
        throw new Violation('hole', `${what}, and not ${before.number} to ${before.room ?? 'all'}`);
    }
    known.last = number;
  }

  /** After quiet: everything has arrived that does not need a worker that was killed. */
  complete(session: Session, isAlive: (sender: string) => boolean): void {
    for (const [sender, sent] of this.emissions) {
      const numbers = session.received.get(sender)?.numbers;
      for (const one of sent) {
        if (numbers?.has(one.number) || !session.mustReceive(one)) continue;
        if (isAlive(sender) || one.isReceived)
          throw new Violation(
            'lost',
            `${session.client} (${session.sid}): ${sender}:${one.number} to ${one.room ?? 'all'}`,
          );
      }
    }
  }
}
