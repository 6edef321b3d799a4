import { delay, machineTime } from '../../../base/clock.js';
import type { HubService, HubServiceHost } from '../../../base/hub-service.js';
import { splitTexts } from '../../../base/names.js';
import { own } from '../../../base/owner.js';
import { workerIn } from '../../../base/worker-name.js';
import { type Asked, Deadline, OpenQuestions } from '../../hub-link.js';
import { SharedRun } from '../../shared-run.js';
import {
  bytesOfMissed,
  type Collected,
  type Found,
  type FromKeeperElsewhere,
  MAX_HANG_MS,
  type Missed,
  type MissedQuestion,
  type NamespaceOptions,
  type ToKeeper,
  type ToKeeperElsewhere,
  type ToWorker,
} from '../messages.js';
import { decodeOffset, NO_OFFSET, type Offset, UNKNOWN_TIME } from '../offset.js';
import { Replays, Turns } from '../returns/gate.js';
import { VersionVector } from '../version-vector.js';
import { KeptNamespace } from './kept-namespace.js';
import { beginningOf, receivedBeyond, receivedWith } from './missed.js';
import { nextTurn } from './packets.js';
import { type KeptSession, NO_WORKER, SessionMemory } from './sessions.js';
import { PacketMemory } from './stream.js';
import { withTimesMoved } from './times.js';

/** How long workers may take to post what they hold back, in ms: one that hangs delays all. */
const MAX_POST_MS = 2000;
/** Linked workers tell what they have within this time, in ms. */
const INTRODUCTION_MS = 20;
/** How long the hubs of machines may take to meet, in ms. */
const MAX_MEETING_MS = 1500;
/** How long a keeper that was lost is waited for, in ms: an outage ends, a killed machine does not come back. */
const MAX_ABSENCE_MS = 2000;
/** How long finding a session may take once no worker serves it, in ms. */
const ANSWER_MS = 4750;
/** How often workers are told what is kept, if that has changed, in ms. */
const FIGURES_INTERVAL_MS = 1000;
/** What is asked was not found out in time. */
const BEHIND = { outcome: 'worker behind' } as const;
/** How much faster than another the clock of a machine may run, as a share. */
const MAX_DRIFT = 0.01;
/** The size of one message to the keeper that inherits, in bytes. */
const INHERITED_BYTES = 512 * 1024;
const DEFAULT_BYTES = 32 * 1024 * 1024;

/** How a keeper reaches the workers of its machine and the keepers of others. */
type KeeperHost = Pick<
  HubServiceHost<ToWorker, FromKeeperElsewhere>,
  'isAlone' | 'isLinked' | 'sendToWorker' | 'sendToHub'
>;

/** Another keeper. */
interface Other {
  isHere: boolean;
  /** When it was last here. */
  at: number;
  /** By how much its clock is behind, and how long a message takes at least, in ms. */
  lagMs: number;
  heardAt: number;
  /** The workers whose packets it has, by namespace. */
  readonly senders: Map<string, Set<string>>;
}

/**
 * Keeps what clients may need when they return: the recent broadcasts of the workers of one machine, the sessions of their
 * clients that are away, and copies of the connected ones. It is one thread, so that two workers never take one session.
 *
 * Each packet and each session has one keeper. A client that returns is looked for, and what it lacks is gathered, on all
 * machines.
 */
export class Keeper implements HubService<ToKeeper, FromKeeperElsewhere> {
  private readonly packets = new PacketMemory(DEFAULT_BYTES);
  private readonly sessions = new SessionMemory(DEFAULT_BYTES);
  private readonly namespaces = new Map<string, KeptNamespace>();
  private readonly others = new Map<string, Other>();
  private readonly turns = new Turns();
  /** By worker. They are counted here, so that what is too much for a worker is not sent to it. */
  private readonly replays = new Map<number, Replays>();
  private readonly ofWorkers = new OpenQuestions<number, ToKeeper>();
  private readonly ofHubs = new OpenQuestions<string, ToKeeperElsewhere>();
  private readonly sync = new SharedRun(() => this.askToPost());
  private timer: NodeJS.Timeout | undefined;
  private sweepMs = 0;
  private sweptAt = 0;
  /** The figures and the workers that were told last. */
  private told = '';
  private isClosed = false;
  private turnOver: Promise<void> | undefined;
  private readonly madeAt = machineTime();
  /** Those that look again when a worker or another keeper tells something. */
  private readonly waiting: (() => void)[] = [];

  /** Resolves when the workers that were there before it have told what they have. */
  private readonly isTold: Promise<true>;

  constructor(private readonly host: KeeperHost) {
    const { isLinked } = host;
    this.isTold = isLinked ? isLinked.then(() => delay(INTRODUCTION_MS)).then(() => true) : Promise.resolve(true);
  }

  onWorkerGone(worker: number): void {
    for (const namespace of this.namespaces.values()) namespace.left(worker);
    this.replays.delete(worker);
    this.ofWorkers.gone(worker);
    this.tellFigures();
  }

  onMessage(worker: number, message: ToKeeper): void {
    switch (message.type) {
      case 'open':
        return this.open(worker, message);
      case 'sync':
        return this.host.sendToWorker(worker, { type: 'synced', answers: message.request });
      case 'remove': {
        const { target, server, request } = message;
        const ids = this.remove(target, server);
        this.host.sendToWorker(worker, { type: 'removed', answers: request, ids });
        return;
      }
      case 'joined':
        return this.joined(message, worker);
      case 'posted':
      case 'announced':
        return void this.ofWorkers.answered(worker, message.answers, message);
    }
    const namespace = this.namespaces.get(message.namespace);
    const known = namespace?.workers.get(worker);
    if (!namespace || !known) return;
    switch (message.type) {
      case 'options':
        namespace.options = message.options;
        return;
      case 'close':
        return namespace.left(worker);
      case 'packet':
        return namespace.packets.add(known.name, message.packet);
      case 'unnumbered':
        return namespace.packets.unnumbered.add(message);
      case 'live':
        return namespace.connected(worker, message.session, message.floor, message.floorAt);
      case 'changed':
        return namespace.changed(worker, message.pid, message.change);
      case 'stale':
        return namespace.stale(worker, message.pids);
      case 'bus':
        known.isUp = message.isUp;
        this.wake();
        // Messages may be lost that nothing numbers.
        return namespace.packets.unnumbered.lose();
      case 'tail': {
        const { namespace: name, sender, after } = message;
        const packets = namespace.packets.tail(sender, after);
        return this.host.sendToWorker(worker, { type: 'tail', namespace: name, sender, packets });
      }
      case 'direct':
        return namespace.sentTo(worker, message);
      case 'shared':
        return namespace.shared(worker, message.pid);
      case 'gone':
        return namespace.gone(worker, message.pid);
      case 'away':
        return namespace.disconnected(worker, message.pid);
      case 'failed':
        return namespace.failed(message.pid, worker);
      case 'listen':
        return namespace.listen(worker, message.isListening);
      case 'find': {
        const { namespace: name, request } = message;
        const answer = async () => {
          const found = await this.find(namespace, worker, message);
          this.host.sendToWorker(worker, { type: 'found', namespace: name, answers: request, found });
        };
        return own('finding a session', answer());
      }
    }
  }

  private open(worker: number, message: Extract<ToKeeper, { type: 'open' }>): void {
    const { namespace: name, options } = message;
    const namespace = this.spaceOf(name, options);
    this.packets.maxBytes = options.maxBytes;
    this.sessions.maxBytes = options.maxBytes;
    namespace.open(worker, message);
    this.tell(this.here(), { type: 'senders', namespace: name, names: [message.name] });
  }

  private spaceOf(name: string, options: NamespaceOptions): KeptNamespace {
    const known = this.namespaces.get(name);
    if (known) return known;
    const { packets, sessions, host } = this;
    const namespace = new KeptNamespace(options, {
      packets,
      sessions,
      expired: (worker, session) => host.sendToWorker(worker, { type: 'expired', namespace: name, session }),
      ended: (workers, sender, last) => {
        for (const worker of workers) host.sendToWorker(worker, { type: 'ended', namespace: name, sender, last });
      },
      isElsewhere: (sender) => [...this.others.values()].some(({ senders }) => senders.get(name)?.has(sender)),
    });
    this.namespaces.set(name, namespace);
    this.sweepMs = options.sweepMs;
    this.timer ??= setInterval(() => this.turn(), Math.min(FIGURES_INTERVAL_MS, options.sweepMs)).unref();
    return namespace;
  }

  private *here(): Generator<string> {
    for (const [hub, { isHere }] of this.others) if (isHere) yield hub;
  }

  private async find(
    namespace: KeptNamespace,
    worker: number,
    question: Extract<ToKeeper, { type: 'find' }>,
  ): Promise<Found> {
    const { namespace: name, pid } = question;
    const all = Deadline.of(question);
    await this.onceAway(namespace, name, pid, () => undefined, new Deadline(Math.min(MAX_HANG_MS, all.left)));
    const deadline = new Deadline(Math.min(all.left, ANSWER_MS));
    // A worker that does not answer in time has sessions and packets that no other process knows.
    if (!(await deadline.half.wait(this.isTold))) return BEHIND;
    await this.reunited(name, deadline.half);
    const session = await this.take(namespace, name, pid, worker, deadline);
    if (!session) return { outcome: 'session unknown' };
    const found = await this.found(namespace, worker, question, session, deadline);
    // A client may have tried again meanwhile: what has not got the session must not end it.
    if (found.outcome !== undefined) namespace.failed(pid, worker, { taken: session, isKept: question.isMoving });
    return found;
  }

  private async found(
    namespace: KeptNamespace,
    worker: number,
    { namespace: name, pid, offset: named, received, receivesSince, isAnnounced }: Extract<ToKeeper, { type: 'find' }>,
    session: KeptSession,
    deadline: Deadline,
  ): Promise<Found> {
    const { maxRooms, maxMissed, maxMissedBytes } = namespace.options;
    if (session.worker === NO_WORKER || session.rooms.length > maxRooms) return { outcome: 'too many rooms' };
    if (!isAnnounced) await this.announce(name, worker, session, deadline.half);
    // What others have sent to its id before is kept by then: it was written earlier, and a turn reads all that was written.
    await this.nextTurn();
    const text = named === NO_OFFSET ? beginningOf(session) : named;
    const known = receivedWith(session, text, (offset) => this.timeOf(namespace, name, offset));
    // An attempt that its client has given up, which has received something since. The next one is to find the session.
    if (!known) namespace.disconnected(worker, pid);
    const direct = known && session.direct.after(known.direct, session.aliveAt);
    if (!known || !direct) return { outcome: 'packets missing' };
    const { rooms, aliveAt, floors } = session;
    const alsoReceived = receivedBeyond(session, known.offset);
    const question: MissedQuestion = {
      offset: known.resumedFrom,
      at: this.timeOf(namespace, name, known.offset) ?? session.aliveAt,
      received,
      receivesSince,
      session: { rooms, aliveAt, floors, alsoReceived },
    };
    const missed = direct.map(({ number, at, packets }): Missed => [undefined, number, at, packets]);
    const upTo = new VersionVector();
    for (const collected of await this.collect(namespace, name, question, deadline)) {
      if (collected.outcome !== undefined) return collected;
      for (const one of collected.packets) missed.push(one);
      for (const one of VersionVector.parse(collected.upTo)) upTo.raise(...one);
    }
    const bytes = bytesOfMissed(missed);
    if (missed.length > maxMissed || bytes > maxMissedBytes) return { outcome: 'too much missed' };
    const replays = this.replays.get(worker) ?? new Replays(namespace.options);
    this.replays.set(worker, replays);
    if (!replays.take(missed.length, bytes)) return { outcome: 'too much replayed' };
    missed.sort(([, , one], [, , other]) => one - other);
    const held = replays.hold(missed.length, bytes);
    const release = await deadline.wait(held);
    if (!release) {
      own(
        'giving up a turn',
        held.then((late) => late()),
      );
      return { outcome: 'too much replayed' };
    }
    if (!namespace.onReturned(pid, worker, release)) return { outcome: 'session unknown' };
    const { direct: _, disconnectedAt: __, ...state } = session;
    return {
      outcome: undefined,
      session: { ...state, alsoReceived, replayed: undefined },
      resumedFrom: known.resumedFrom,
      missed,
      upTo: `${upTo}`,
    };
  }

  /** Resolves when all workers send messages to the id of a session to the worker that recovers it, too. */
  private async announce(
    namespace: string,
    worker: number,
    { pid, sid }: KeptSession,
    { left }: Deadline,
  ): Promise<void> {
    // Messages to an id that names no worker go to all.
    if (workerIn(sid) === undefined) return;
    await this.ofWorkers.ask([worker], left, (_worker, question) =>
      this.host.sendToWorker(worker, { type: 'taking', namespace, pid, sid, ...question }),
    );
  }

  /** Those that wait at once go on together, so that their answers share a write. */
  private nextTurn(): Promise<void> {
    this.turnOver ??= nextTurn().then(() => {
      this.turnOver = undefined;
    });
    return this.turnOver;
  }

  /** Takes a session from the worker, or the keeper, that has it. */
  private async take(
    namespace: KeptNamespace,
    name: string,
    pid: string,
    worker: number,
    deadline: Deadline,
  ): Promise<KeptSession | undefined> {
    // The worker that asks may be killed meanwhile.
    const take = () => (namespace.workers.has(worker) ? namespace.take(pid, worker) : undefined);
    const known = take();
    if (known) return known;
    await this.toldBy(namespace, pid, deadline.half, worker);
    const takeOnceAway = () => this.onceAway(namespace, name, pid, take, deadline.half);
    const told = await takeOnceAway();
    // Another keeper may have taken it meanwhile, for a worker that was killed then.
    if (told || namespace.workerOf(pid) !== undefined) return told;
    await this.met(deadline.half);
    for (;;) {
      const begun = machineTime();
      const asked = [...this.here()];
      const answers = await this.ask(asked, deadline.half, { type: 'seek', namespace: name, pid });
      for (const answer of answers.values()) {
        if (answer.type !== 'sought' || !answer.away) continue;
        const session = namespace.adopt(answer.away);
        if (namespace.workers.has(worker)) return namespace.take(pid, worker, session);
        namespace.adoptAway(answer.away);
      }
      // Another attempt of the client may have brought it here meanwhile, or a keeper that has ended.
      const brought = await takeOnceAway();
      if (brought || !this.hasLost(asked, begun) || deadline.left === 0) return brought;
      await this.reunited(name, deadline.half);
    }
  }

  /** When a worker has sent a packet with an offset, by the clock of this machine; undefined if that is not known. */
  private timeOf(namespace: KeptNamespace, name: string, { worker, at }: Offset): number | undefined {
    if (at === UNKNOWN_TIME) return undefined;
    const ownLag = namespace.packets.lagOf(worker);
    if (ownLag !== undefined) return at + ownLag;
    for (const { senders, lagMs } of this.others.values()) if (senders.get(name)?.has(worker)) return at + lagMs;
    return undefined;
  }

  /** Resolves when the workers have told all that they know, if the keeper does not know a session. */
  private async toldBy(namespace: KeptNamespace, pid: string, deadline: Deadline, asking?: number): Promise<void> {
    if (namespace.workerOf(pid) !== undefined) return;
    const others = [...namespace.workers.keys()].filter((worker) => worker !== asking);
    if (others.length > 0) await deadline.wait(this.sync.next());
  }

  /** Asks all workers to post what they hold back. */
  private async askToPost(): Promise<void> {
    const workers = [...this.namespaces.values()].flatMap((namespace) => [...namespace.workers.keys()]);
    await this.ofWorkers.ask(workers, MAX_POST_MS, (worker, question) =>
      this.host.sendToWorker(worker, { type: 'post', ...question }),
    );
  }

  /**
   * Takes a session as soon as no worker serves it; undefined if there is none, or after a while. Its client returns before the
   * worker knows that it is gone. One that has tried to return before may be connected only now.
   */
  private async onceAway<T>(
    namespace: KeptNamespace,
    name: string,
    pid: string,
    take: () => T | undefined,
    deadline: Deadline,
  ): Promise<T | undefined> {
    for (;;) {
      const taken = take();
      const worker = namespace.workerOf(pid);
      if (taken || worker === undefined || deadline.left === 0) return taken;
      let stop = () => {};
      const changed = new Promise<void>((resolve) => {
        stop = namespace.away.onChange(pid, resolve);
      });
      this.host.sendToWorker(worker, { type: 'end', namespace: name, pid });
      await deadline.wait(changed);
      stop();
    }
  }

  /** What all keepers have of what a client lacks. */
  private async collect(
    namespace: KeptNamespace,
    name: string,
    question: MissedQuestion,
    deadline: Deadline,
  ): Promise<readonly Collected[]> {
    await this.met(deadline.half);
    const begun = machineTime();
    const oldest = oldestOf(namespace, question);
    const others: string[] = [];
    for (const [hub, { isHere, at, senders }] of this.others) {
      if (isHere) others.push(hub);
      // It has ended, or is out of reach, with packets that nobody else has.
      else if (at > oldest && mayLack(senders.get(name), at, question)) return [{ outcome: 'packets missing' }];
    }
    const ask = (hubs: readonly string[]) =>
      this.ask(hubs, deadline.half, { type: 'collect', namespace: name, question });
    const asked = ask(others);
    const own = this.missing(namespace, question, deadline.half);
    const answers = await asked;
    // Another keeper may know some that this one has not met yet.
    const known = [...answers.values()].flatMap((answer) => (answer.type === 'collected' ? answer.keepers : []));
    const more = [...new Set(known)].filter((hub) => !others.includes(hub));
    const areHere = () => more.every((hub) => this.others.get(hub)?.isHere);
    if (more.length > 0) {
      await this.met(deadline.half, areHere);
      for (const [hub, answer] of await ask(more.filter((hub) => this.others.get(hub)?.isHere)))
        answers.set(hub, answer);
    }
    const all = [...others, ...more];
    const collected = all.map((hub) => {
      const answer = answers.get(hub);
      return answer?.type === 'collected' ? answer.collected : BEHIND;
    });
    const gathered = [await own, ...collected];
    if (!this.hasLost(all, begun) || deadline.left === 0) return gathered;
    // What one had that has ended meanwhile, another one has now, and may have answered without it.
    await this.reunited(name, deadline.half);
    return this.collect(namespace, name, question, deadline);
  }

  /** Whether one of these keepers has ended since a time, or was out of reach. */
  private hasLost(hubs: readonly string[], since: number): boolean {
    return hubs.some((hub) => (this.others.get(hub)?.at ?? since) >= since);
  }

  /** Resolves when some other keepers are here, by default any, or when those that there are would be. */
  private async met({ left }: Deadline, areHere = () => this.here().next().done === false): Promise<void> {
    const ms = this.madeAt + MAX_MEETING_MS - machineTime();
    if (!this.host.isAlone) await this.until(areHere, new Deadline(Math.min(ms, left)));
  }

  /** Resolves when each keeper that was lost just now, with packets that nobody else has, is here again or counts as ended. */
  private reunited(name: string, deadline: Deadline): Promise<void> {
    const isLost = ({ isHere, at, senders }: Other) =>
      !isHere && senders.get(name)?.size && machineTime() - at < MAX_ABSENCE_MS;
    const latest = Math.max(...[...this.others.values()].filter(isLost).map(({ at }) => at));
    const ms = latest + MAX_ABSENCE_MS - machineTime();
    return this.until(() => ![...this.others.values()].some(isLost), new Deadline(Math.min(ms, deadline.left)));
  }

  /** Resolves when something is so, or at a time. What workers and other keepers tell may make it so. */
  private async until(isSo: () => boolean, deadline: Deadline): Promise<void> {
    while (!this.isClosed && !isSo() && deadline.left > 0)
      await deadline.wait(new Promise<void>((resolve) => this.waiting.push(resolve)));
  }

  private wake(): void {
    for (const go of this.waiting.splice(0)) go();
  }

  /** What this keeper has of what a client lacks. */
  private async missing(namespace: KeptNamespace, question: MissedQuestion, deadline: Deadline): Promise<Collected> {
    const gathered = async (): Promise<Collected> => {
      // What a worker sends next without its bus would not reach the one that asks.
      const areUp = () => [...namespace.workers.values()].every(({ isUp }) => isUp);
      await this.until(areUp, deadline.half);
      await this.turns.take(namespace.packets.costOf(question));
      const collected = await namespace.packets.missing(question);
      return areUp() ? collected : BEHIND;
    };
    return (await deadline.wait(gathered())) ?? BEHIND;
  }

  /** Asks keepers. */
  private ask(
    hubs: Iterable<string>,
    { left }: Deadline,
    question: Asked<ToKeeperElsewhere>,
  ): Promise<Map<string, ToKeeperElsewhere>> {
    return this.ofHubs.ask(hubs, left, (hub, numbered) =>
      this.tell([hub], { ...question, ...numbered } as ToKeeperElsewhere),
    );
  }

  private tell(hubs: Iterable<string>, message: ToKeeperElsewhere): void {
    const sent = { ...message, sentAt: machineTime() };
    for (const hub of hubs) this.host.sendToHub(hub, sent);
  }

  private remove(target: Extract<ToKeeper, { type: 'remove' }>['target'], server: string): string[] {
    return [...this.namespaces].flatMap(([name, namespace]) => {
      const [ofServer, nsp] = splitTexts(name);
      const isMeant = ofServer === server && (!('namespace' in target) || target.namespace === nsp);
      return isMeant ? namespace.remove(target) : [];
    });
  }

  private joined(message: Extract<ToKeeper, { type: 'joined' }>, from: number): void {
    const { workers = new Map<number, unknown>() } = this.namespaces.get(message.namespace) ?? {};
    for (const worker of workers.keys()) if (worker !== from) this.host.sendToWorker(worker, message);
    if (from >= 0) this.tell(this.here(), message);
  }

  onHubHere(hub: string): void {
    const known = this.others.get(hub);
    const other = known ?? { isHere: true, at: 0, lagMs: 0, heardAt: Number.NEGATIVE_INFINITY, senders: new Map() };
    other.isHere = true;
    this.others.set(hub, other);
    this.wake();
    const ms = machineTime() - other.at + NOTICE_MS;
    for (const [namespace, { packets, workers }] of this.namespaces) {
      if (known) for (const worker of workers.keys()) this.host.sendToWorker(worker, { type: 'lost', namespace, ms });
      this.tell([hub], { type: 'senders', namespace, names: packets.senders });
    }
  }

  onHubGone(hub: string): void {
    const other = this.others.get(hub);
    if (!other) return;
    other.isHere = false;
    other.at = machineTime();
    this.ofHubs.gone(hub);
  }

  onHubMessage(hub: string, { sentAt, ...given }: FromKeeperElsewhere): void {
    const message = withTimesMoved(given as ToKeeperElsewhere, this.lagOf(hub, sentAt));
    switch (message.type) {
      case 'senders':
        return this.haveSenders(hub, message.namespace, message.names);
      case 'seek':
        return own('giving a session', this.sought(hub, message));
      case 'collect':
        return own('giving packets', this.collected(hub, message));
      case 'sought':
        // The client has got a new session, or tries again.
        if (!this.ofHubs.answered(hub, message.answers, message) && message.away)
          this.namespaces.get(message.namespace)?.adoptAway(message.away);
        return;
      case 'collected':
        return void this.ofHubs.answered(hub, message.answers, message);
      case 'joined':
        return this.joined(message, -1);
      case 'inherit':
        return this.inherit(message);
    }
  }

  /** By how much times of another machine are to be moved, in ms, now that a message has come from there. */
  private lagOf(hub: string, sentAt: number): number {
    const now = machineTime();
    const other = this.others.get(hub);
    if (!other) return now - sentAt;
    // The shortest way counts, as long as neither of the machines sleeps.
    other.lagMs = Math.min(now - sentAt, other.lagMs + (now - other.heardAt) * MAX_DRIFT);
    other.heardAt = now;
    return other.lagMs;
  }

  /** A name has one keeper: the one that has told so last. */
  private haveSenders(hub: string, namespace: string, names: readonly string[]): void {
    for (const [one, { senders }] of this.others) {
      const known = senders.get(namespace) ?? new Set();
      senders.set(namespace, known);
      for (const name of names) {
        if (one === hub) known.add(name);
        else known.delete(name);
      }
    }
    this.wake();
  }

  private async sought(hub: string, question: Extract<ToKeeperElsewhere, { type: 'seek' }>) {
    const { request, namespace: name, pid } = question;
    const deadline = Deadline.of(question);
    await deadline.half.wait(this.isTold);
    const namespace = this.namespaces.get(name);
    if (namespace && !namespace.away.get(pid)) await this.toldBy(namespace, pid, deadline.half);
    const away = namespace && (await this.onceAway(namespace, name, pid, () => namespace.give(pid), deadline));
    this.tell([hub], { type: 'sought', answers: request, namespace: name, away });
  }

  private async collected(hub: string, message: Extract<ToKeeperElsewhere, { type: 'collect' }>) {
    const { request, namespace: name, question } = message;
    const deadline = Deadline.of(message);
    // Workers that were there before this hub have the namespace, too.
    if (!(await deadline.half.wait(this.isTold))) return;
    const namespace = this.namespaces.get(name);
    const none: Collected = { outcome: undefined, packets: [], upTo: '' };
    const collected = namespace ? await this.missing(namespace, question, deadline) : none;
    const keepers = [...this.here()].filter((one) => one !== hub);
    const all = this.withLost(name, question, collected);
    this.tell([hub], { type: 'collected', answers: request, collected: all, keepers });
  }

  /** Others may not know of a keeper that has ended without leaving what it had. */
  private withLost(name: string, question: MissedQuestion, collected: Collected): Collected {
    const oldest = oldestOf(this.namespaces.get(name), question);
    for (const { isHere, at, senders } of this.others.values()) {
      if (!isHere && at > oldest && mayLack(senders.get(name), at, question)) return { outcome: 'packets missing' };
    }
    return collected;
  }

  private inherit({ namespace: name, options, streams, away }: Extract<ToKeeperElsewhere, { type: 'inherit' }>): void {
    const namespace = this.spaceOf(name, options);
    // Until the last part has come, its packets count as those of the keeper that ends: others wait for them.
    const whole = streams.filter(({ sender, ...state }) => namespace.packets.adopt(sender, state));
    for (const state of away) namespace.adoptAway(state);
    const names = whole.map(({ sender }) => sender);
    if (names.length === 0) return;
    for (const { senders } of this.others.values()) for (const one of names) senders.get(name)?.delete(one);
    this.tell(this.here(), { type: 'senders', namespace: name, names });
  }

  private turn(): void {
    if (machineTime() >= this.sweptAt + this.sweepMs) this.sweep();
    this.tellFigures();
  }

  private sweep(): void {
    this.sweptAt = machineTime();
    let retentionMs = 0;
    for (const [name, namespace] of this.namespaces) {
      namespace.sweep();
      retentionMs = Math.max(retentionMs, namespace.retentionMs);
      if (namespace.workers.size === 0 && namespace.away.size === 0 && namespace.packets.senders.length === 0) {
        namespace.close();
        this.namespaces.delete(name);
      }
    }
    const oldest = machineTime() - retentionMs;
    this.packets.dropBefore(oldest);
    for (const [hub, { isHere, at }] of this.others) if (!isHere && at < oldest) this.others.delete(hub);
  }

  /** All workers report what the keeper has. */
  private tellFigures(): void {
    const workers = [...new Set([...this.namespaces.values()].flatMap((namespace) => [...namespace.workers.keys()]))];
    const all = [...this.namespaces.values()].map(({ away }) => away);
    const sum = (count: 'size' | 'dropped') => all.reduce((total, away) => total + away[count], 0);
    const figures = {
      bytes: { packets: this.packets.bytes, sessions: this.sessions.bytes },
      packets: this.packets.size,
      sessions: sum('size'),
      dropped: { packets: this.packets.dropped, sessions: sum('dropped') },
    };
    const told = JSON.stringify([figures, workers]);
    if (told === this.told) return;
    this.told = told;
    for (const worker of workers) this.host.sendToWorker(worker, { type: 'figures', figures });
  }

  /** What it has goes to one other keeper. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.wake();
    const [heir] = [...this.here()].sort();
    for (const [name, namespace] of this.namespaces) {
      for (const worker of [...namespace.workers.keys()]) namespace.left(worker);
      if (heir !== undefined) this.leave(heir, name, namespace);
      namespace.close();
    }
    this.namespaces.clear();
    clearInterval(this.timer);
    this.turns.close();
  }

  private leave(heir: string, name: string, namespace: KeptNamespace): void {
    const { options } = namespace;
    const send = (parts: Pick<Extract<ToKeeperElsewhere, { type: 'inherit' }>, 'streams' | 'away'>) =>
      this.tell([heir], { type: 'inherit', namespace: name, options, ...parts });
    for (const stream of namespace.packets.state(INHERITED_BYTES)) send({ streams: [stream], away: [] });
    let away: ReturnType<KeptNamespace['give']>[] = [];
    let bytes = 0;
    for (const state of namespace.giveAll()) {
      away.push(state);
      bytes += 1000 + state.direct.packets.length * 500;
      if (bytes < INHERITED_BYTES) continue;
      send({ streams: [], away: away as never });
      away = [];
      bytes = 0;
    }
    if (away.length > 0) send({ streams: [], away: away as never });
  }
}

/** Since when a client may lack something. */
function oldestOf(namespace: KeptNamespace | undefined, { session: { aliveAt } }: MissedQuestion): number {
  return aliveAt - (namespace?.options.slackMs ?? 0);
}

/** The end of another keeper is noticed within this time, in ms, and so is that of its workers. */
const NOTICE_MS = 15_000;

/**
 * Whether a client may lack packets of workers whose keeper is gone since a time: it has not received as much of each as the
 * worker that asks has, or this one has begun too late to know.
 */
function mayLack(
  senders: ReadonlySet<string> | undefined,
  at: number,
  { offset, received, receivesSince }: MissedQuestion,
): boolean {
  if (!senders?.size) return false;
  if (receivesSince > at - NOTICE_MS) return true;
  const lacking = VersionVector.parse(received).beyond(decodeOffset(offset)!.senders);
  return lacking.some((sender) => senders.has(sender));
}
