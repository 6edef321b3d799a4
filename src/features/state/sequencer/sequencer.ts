import { clearTimeout, delay, nextTick, performance, setTimeout } from '../../../base/clock.js';
import { MalformedMessage } from '../../../base/errors.js';
import type { HubService, HubServiceHost } from '../../../base/hub-service.js';
import { own } from '../../../base/owner.js';
import { randomBytes } from '../../../base/random.js';
import { within } from '../../../base/within.js';
import type { LinkQuestion } from '../../hub-link.js';
import type { KeyChange, StateEntry } from '../entries.js';
import { HybridClock } from '../version.js';
import { KeyExpiry } from './expiry.js';
import { Machines, type SharedRoom } from './machines.js';
import type { FromSequencer, Request, StoreNews, ToMachine, ToSequencer } from './messages.js';
import { type EntryPage, pageOf, SequencedRoom } from './room.js';
import type { StoreAddress } from './store/address.js';
import { StoreConnection } from './store/connection.js';
import { RoomStore } from './store/store.js';

/** How many calls of compareAndSet() and patch() of a room wait until it is ready. */
const MAX_HELD = 10_000;
/** Linked workers tell which rooms they have within this time, in ms. */
const INTRODUCTION_MS = 20;
/** How long it waits for other machines after its start, in ms. */
const MEET_MS = 400;
/** How long members wait for what Redis has, in ms. */
const MAX_LOAD_MS = 5000;
/** How long a worker that closes a room waits for Redis, in ms. */
const MAX_STORE_MS = 2000;
/** How long a room without workers is kept: they may have been killed, in ms. */
const IDLE_MS = 60_000;

/** How a sequencer reaches the workers of its machine, and the sequencers of others. */
type SequencerHost = Pick<
  HubServiceHost<FromSequencer, ToMachine>,
  'isAlone' | 'isLinked' | 'isLocal' | 'sendToWorker' | 'sendToHub'
>;

/** A worker that has a room. */
interface Follower {
  /** Names it as the owner of keys. */
  readonly node: string;
  /** Whether it has everything up to `sent`. */
  isOpen: boolean;
  sent: number;
  /** The last change of the worker that was applied, and the last that it was told of. */
  acked: number;
  toldAcked: number;
  /** What it has of a sequencer that is gone, unless it has told. */
  had: { readonly epoch: string; readonly number: number } | undefined;
  isPulled: boolean;
}

/** A request that changes a value. */
type Update = Extract<Request, { type: 'patch' | 'compareAndSet' }> & LinkQuestion;

interface FollowedRoom extends SharedRoom {
  readonly workers: Map<number, Follower>;
  store: RoomStore | undefined;
  /** How many things it waits for before workers get it. */
  waits: number;
  isReady: boolean;
  idle: NodeJS.Timeout | undefined;
  /** Up to which number the workers have told what they have of a sequencer that is gone, by its epoch. */
  readonly pulledUpTo: Map<string, number>;
  /** What waits until it is ready: the values may not be here before. */
  held: { readonly worker: number; readonly request: Update }[];
}

/** Gives the changes of the workers of a machine one order, and exchanges them with other machines and Redis. */
export class Sequencer implements HubService<ToSequencer, ToMachine> {
  private readonly node = randomBytes(9).toString('base64url');
  readonly clock = new HybridClock();
  private readonly rooms = new Map<string, FollowedRoom>();
  private readonly machines: Machines;
  private readonly expiry = new KeyExpiry();
  private readonly startedAt = performance.now();
  private readonly dirty = new Set<FollowedRoom>();
  /** Stores of rooms that are gone, which write what is left. */
  private readonly dropping = new Map<string, Promise<number>>();
  private isFlushDue = false;
  private recent: { entries: SequencedRoom['entries']; seq: number; after: number; page: EntryPage } | undefined;

  /** Resolves when the workers that were there before it have told which rooms they have; undefined once they have. */
  private told: Promise<unknown> | undefined;

  constructor(private readonly host: SequencerHost) {
    this.told = host.isLinked?.then(() => delay(INTRODUCTION_MS));
    const toldAll = this.told?.finally(() => {
      this.told = undefined;
    });
    if (toldAll) own('linking the hub with the workers', toldAll);
    this.machines = new Machines({
      node: this.node,
      rooms: this.rooms,
      sendToHub: (hub, message) => host.sendToHub(hub, message),
      changed: () => this.flushSoon(),
      onMachineGone: () => {
        for (const { store } of this.rooms.values()) store?.syncSoon();
      },
    });
  }

  onWorkerGone(worker: number): void {
    for (const room of this.rooms.values()) {
      const follower = room.workers.get(worker);
      if (!follower) continue;
      this.leave(room, worker, follower);
      if (room.workers.size > 0) continue;
      room.idle = setTimeout(() => own('closing a state room', this.drop(room)), IDLE_MS).unref();
    }
  }

  /** A worker does not have a room any more. */
  private leave(room: FollowedRoom, worker: number, { node }: Follower): void {
    room.workers.delete(worker);
    room.sequenced.ownerGone(node);
    this.readyIfDone(room);
  }

  onHubHere(hub: string): void {
    this.machines.onHere(hub);
  }

  onHubGone(hub: string): void {
    this.machines.onGone(hub);
  }

  onHubMessage(hub: string, message: ToMachine): void {
    this.machines.onMessage(hub, message);
    const room = 'room' in message ? this.rooms.get(message.room) : undefined;
    if (room) checkBounds(room);
  }

  close(): void {
    own('closing the state rooms', this.closed());
  }

  /** Closes. Resolves once Redis has everything, or does not take it. */
  async closed(): Promise<void> {
    this.flush();
    await Promise.all([...this.rooms.values()].map((room) => this.drop(room)));
    this.machines.close();
    this.expiry.close();
  }

  onMessage(worker: number, message: ToSequencer): void {
    if (message.type === 'open') return this.open(worker, message);
    const room = this.rooms.get(message.room);
    const follower = room?.workers.get(worker);
    if (!room || !follower) return;
    switch (message.type) {
      case 'pull':
        return this.sendPage(room, worker, follower, message.after);
      case 'changes':
        this.replaceHeld(room, worker, message.changes);
        for (const change of message.changes) room.sequenced.set(change);
        follower.acked = message.last;
        this.flushSoon(room);
        return checkBounds(room);
      case 'page':
        this.takePage(room, worker, follower, message);
        return checkBounds(room);
      default:
        return this.answer(room, worker, follower, message);
    }
  }

  private open(worker: number, message: ToSequencer & { type: 'open' }): void {
    const { room: name, node, epoch, number, bounds, store } = message;
    const room = this.rooms.get(name) ?? this.create(name, bounds);
    clearTimeout(room.idle);
    if (store && !room.store) {
      const dropped = this.dropping.get(name);
      if (dropped)
        this.awaitFor(
          room,
          dropped.then(() => this.openStore(room, store)),
        );
      else this.openStore(room, store);
    }
    const { entries, epoch: known } = room.sequenced;
    const had = number > 0 && epoch !== known ? { epoch, number } : undefined;
    const follower: Follower = {
      ...{ node, isOpen: false, sent: 0, acked: 0, toldAcked: 0, had, isPulled: false },
    };
    room.workers.set(worker, follower);
    if (epoch === known && number >= entries.forgottenSeq && room.isReady) {
      follower.sent = number;
      return this.sendPage(room, worker, follower, number);
    }
    if (!room.isReady) this.readyIfDone(room);
    else if (!this.lacks(room, follower)) this.sendPage(room, worker, follower, 0);
    else this.pull(room, worker, follower);
  }

  /** Whether a worker has what nobody has told yet: what another one has of the same sequencer, up to the same number, is the same. */
  private lacks(room: FollowedRoom, { had }: Follower): boolean {
    return had !== undefined && had.number > (room.pulledUpTo.get(had.epoch) ?? 0);
  }

  private pull(room: FollowedRoom, worker: number, follower: Follower): void {
    follower.isPulled = true;
    this.host.sendToWorker(worker, { type: 'pull', room: room.sequenced.name, after: 0 });
  }

  private create(name: string, bounds: SequencedRoom['bounds']): FollowedRoom {
    const onChange = (sequenced: SequencedRoom, entry: StateEntry) => {
      if (entry.expires !== undefined) this.expiry.add(sequenced, entry);
      this.flushSoon(room);
      // Deletions must not be forgotten before they are sent.
      if (sequenced.entries.seq - room.sentToMachines >= bounds.maxKeys) this.flush();
    };
    const room: FollowedRoom = {
      sequenced: new SequencedRoom(name, bounds, this.node, this.clock, onChange),
      ...{ sentToMachines: 0, known: new Map(), workers: new Map(), store: undefined },
      ...{ waits: 0, isReady: false, idle: undefined, pulledUpTo: new Map(), held: [] },
    };
    room.sequenced.entries.isFilling = true;
    this.rooms.set(name, room);
    const meet = !this.host.isAlone ? MEET_MS - (performance.now() - this.startedAt) : 0;
    const fill = () => this.machines.fill(room);
    for (const before of [this.told, meet > 0 ? delay(meet).then(fill) : fill()]) {
      if (before) this.awaitFor(room, before);
    }
    return room;
  }

  private openStore(room: FollowedRoom, { redis, key }: StoreAddress): void {
    if (room.store || this.rooms.get(room.sequenced.name) !== room) return;
    room.store = new RoomStore(room.sequenced, this.node, key, StoreConnection.to(redis), {
      onChange: () => this.flushSoon(room),
      onNews: (news) => this.tellNews(room, news),
    });
    if (!room.isReady) this.awaitFor(room, within(MAX_LOAD_MS, room.store.loaded));
  }

  private awaitFor(room: FollowedRoom, promise: Promise<unknown>): void {
    room.waits++;
    own(
      'opening a state room',
      promise.finally(() => {
        room.waits--;
        this.readyIfDone(room);
      }),
    );
  }

  /** Gives the room to its workers once it has what there is. */
  private readyIfDone(room: FollowedRoom): void {
    if (room.isReady || room.waits > 0) return;
    const followers = [...room.workers];
    if (followers.some(([, { isPulled }]) => isPulled)) return;
    const [first] = followers
      .filter(([, follower]) => this.lacks(room, follower))
      .sort(([, one], [, other]) => other.had!.number - one.had!.number);
    if (first) return this.pull(room, ...first);
    room.isReady = true;
    room.sequenced.entries.filled();
    const done = room.held.splice(0).map(({ worker, request }) => ({ worker, request, fields: update(room, request) }));
    for (const [worker, follower] of followers) this.sendPage(room, worker, follower, 0);
    for (const { worker, request, fields } of done) this.reply(room, worker, request, fields);
  }

  /** A worker has set keys. Its patches of them that wait have no effect any more. */
  private replaceHeld(room: FollowedRoom, worker: number, changes: readonly KeyChange[]): void {
    if (room.held.length === 0) return;
    const keys = new Set(changes.map(({ key }) => key));
    room.held = room.held.filter(({ worker: by, request }) => {
      if (by !== worker || request.type !== 'patch' || !keys.has(request.changes[0].key)) return true;
      this.reply(room, worker, request, {});
      return false;
    });
  }

  private reply({ sequenced }: FollowedRoom, worker: number, { request: answers }: LinkQuestion, fields: object): void {
    this.flush();
    this.host.sendToWorker(worker, { type: 'reply', room: sequenced.name, answers, ...fields });
  }

  private sendPage(room: FollowedRoom, worker: number, follower: Follower, from: number): void {
    const { sequenced, store } = room;
    const { entries, epoch, name } = sequenced;
    const { forgottenSeq, seq } = entries;
    const isFirst = from === 0 || from < forgottenSeq;
    const shared = this.host.isLocal ? entries : undefined;
    const { changes, next }: EntryPage = shared ? { changes: [] } : pageOf(entries, isFirst ? 0 : from);
    const page = { epoch, isFirst, forgottenSeq, changes, next, seq, shared };
    this.host.sendToWorker(worker, { type: 'page', room: name, ...page });
    if (next !== undefined) return;
    follower.isOpen = true;
    follower.sent = seq;
    if (store) this.host.sendToWorker(worker, { type: 'store', room: name, written: store.written, down: store.down });
    this.tellChanges(room, worker, follower);
  }

  private takePage(
    room: FollowedRoom,
    worker: number,
    follower: Follower,
    message: ToSequencer & { type: 'page' },
  ): void {
    const { changes, last, next, isAll } = message;
    let taken = 0;
    for (const change of changes) {
      if (change.owner !== undefined) room.sequenced.setAgain(change);
      else if (room.sequenced.merge(change, false) === 'taken') taken++;
    }
    // The sequencer to which a worker said it may not have stored it.
    if (taken > 0) room.store?.syncSoon();
    if (last !== undefined) follower.acked = last;
    this.flushSoon(room);
    if (next !== undefined) this.host.sendToWorker(worker, { type: 'pull', room: message.room, after: next });
    const { had } = follower;
    if (!isAll || !had) return;
    follower.isPulled = false;
    room.pulledUpTo.set(had.epoch, had.number);
    if (room.isReady) this.sendPage(room, worker, follower, 0);
    else this.readyIfDone(room);
  }

  private answer(
    room: FollowedRoom,
    worker: number,
    follower: Follower,
    request: Request & LinkQuestion & { room: string },
  ): void {
    const { store } = room;
    const reply = (fields: object) => this.reply(room, worker, request, fields);
    switch (request.type) {
      case 'patch':
      case 'compareAndSet':
        if (request.type === 'patch') follower.acked = request.number;
        if (room.isReady) {
          this.flushSoon(room);
          return reply(update(room, request));
        }
        if (room.held.length >= MAX_HELD) return reply({ error: 'OVERLOADED' });
        return void room.held.push({ worker, request });
      case 'ping':
      case 'continue': {
        const answer = () => {
          const isBack = request.type === 'continue';
          reply(isBack ? { from: this.machines.numberAt(room, request.epoch, request.time) } : {});
        };
        const passed = this.machines.caughtUp();
        return passed ? own('asking other machines', passed.then(answer)) : answer();
      }
      case 'stored':
        return own(
          'storing a state room',
          (store?.stored() ?? Promise.resolve()).then(() => reply({ written: store?.written })),
        );
      case 'close':
        this.leave(room, worker, follower);
        this.flush();
        if (room.workers.size > 0) {
          const stored = store && store.down === undefined ? within(MAX_STORE_MS, store.stored()) : Promise.resolve();
          return own(
            'storing a state room',
            stored.then(() => reply({})),
          );
        }
        return own(
          'closing a state room',
          this.drop(room).then((unwritten) => reply({ unwritten })),
        );
    }
  }

  /** Forgets a room that no worker has. Resolves with how many of its changes Redis lacks. */
  private async drop(room: FollowedRoom): Promise<number> {
    clearTimeout(room.idle);
    const { name } = room.sequenced;
    if (this.rooms.get(name) === room) this.rooms.delete(name);
    this.dirty.delete(room);
    if (!room.store) return 0;
    const closed = room.store.close();
    this.dropping.set(name, closed);
    await closed.finally(() => this.dropping.get(name) === closed && this.dropping.delete(name));
    return closed;
  }

  /** Sends what has changed at the end of this turn. */
  private flushSoon(room?: FollowedRoom): void {
    if (room) this.dirty.add(room);
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    nextTick(() => this.flush());
  }

  /** Sends workers and machines what has changed. */
  flush(): void {
    this.isFlushDue = false;
    for (const room of this.dirty) {
      this.dirty.delete(room);
      for (const [worker, follower] of room.workers) {
        if (follower.isOpen) this.tellChanges(room, worker, follower);
      }
      this.machines.publish(room);
      room.store?.changed();
    }
  }

  private tellChanges(room: FollowedRoom, worker: number, follower: Follower): void {
    const { entries, name } = room.sequenced;
    const { acked } = follower;
    while (follower.sent < entries.seq || acked !== follower.toldAcked) {
      if (follower.sent < entries.forgottenSeq && !this.host.isLocal) {
        follower.isOpen = false;
        return this.sendPage(room, worker, follower, 0);
      }
      const { changes, next } = this.pageAfter(room.sequenced, follower.sent);
      follower.sent = next ?? entries.seq;
      if (next === undefined) follower.toldAcked = acked;
      const { sent: seq, toldAcked } = follower;
      this.host.sendToWorker(worker, { type: 'changes', room: name, seq, acked: toldAcked, changes });
    }
  }

  /** Most workers are equally far: what one is sent, others are sent too. */
  private pageAfter({ entries }: SequencedRoom, after: number): EntryPage {
    if (this.host.isLocal) return { changes: [] };
    const { seq } = entries;
    if (this.recent?.entries !== entries || this.recent.seq !== seq || this.recent.after !== after) {
      this.recent = { entries, seq, after, page: pageOf(entries, after) };
    }
    return this.recent.page;
  }

  private tellNews({ sequenced, workers }: FollowedRoom, { losses, ...news }: StoreNews): void {
    let isFirst = true;
    for (const worker of workers.keys()) {
      const message = { type: 'store', room: sequenced.name, ...news } as const;
      this.host.sendToWorker(worker, isFirst ? { ...message, losses } : message);
      isFirst = false;
    }
  }
}

/** @returns the fields of the reply */
function update({ sequenced }: FollowedRoom, request: Update): object {
  if (request.type === 'patch') return { error: sequenced.patch(request.changes[0]) };
  const found = sequenced.compareAndSet(...request.changes);
  return typeof found === 'string' ? { error: found } : { isDone: found };
}

/** @throws MalformedMessage if changes were dropped because the room is far over its bounds */
function checkBounds({ sequenced }: FollowedRoom): void {
  const { dropped, name } = sequenced;
  sequenced.dropped = 0;
  if (dropped > 0) throw new MalformedMessage(`${dropped} changes far over the bounds of the state room ${name}`);
}
