import { clearInterval, setInterval } from '../../../base/clock.js';
import { own, owned } from '../../../base/owner.js';
import { within } from '../../../base/within.js';
import { OpenQuestions } from '../../hub-link.js';
import { SharedRun } from '../../shared-run.js';
import { changeOf, type KeyChange } from '../entries.js';
import { UNITS_PER_MS } from '../version.js';
import type { Digest, ToMachine } from './messages.js';
import { type EntryPage, pageOf, type SequencedRoom } from './room.js';

/** How often machines compare what they have, in ms. */
const DIGEST_MS = 2000;
/** A room that differs so often is pulled, and so often while it changes: the difference may be on its way. */
const MAX_DIFFERENT = 2;
const MAX_DIFFERENT_BUSY = 15;
/** How often a room differs at most before it is pulled again, if pulling did not help. */
const MAX_PATIENCE = 256;
/** How long the pages of another machine are waited for, in ms. */
const PULL_MS = 5000;
/** How long the answers of other machines are waited for, in ms. */
const PING_MS = 1000;
/** How long a change may be on its way to another machine, and how much clocks may differ, in ms. */
const ON_ITS_WAY_MS = 10_000;
/** Rooms in one message. */
const DIGESTS = 500;

/** A room, and what it has of other machines. */
export interface SharedRoom {
  readonly sequenced: SequencedRoom;
  /** The number of the latest change that the other machines were sent. */
  sentToMachines: number;
}

export interface MachinesHost {
  readonly node: string;
  readonly rooms: ReadonlyMap<string, SharedRoom>;
  sendToHub(hub: string, message: ToMachine): void;
  /** Workers and Redis get what another machine has changed. */
  changed(room: SharedRoom): void;
  /** What a machine has changed and not stored may be lost. */
  onMachineGone(): void;
}

interface Pull {
  readonly hub: string;
  readonly room: SharedRoom;
  readonly knownUpTo: ReadonlyMap<string, number>;
  taken: number;
  readonly done: () => void;
}

interface Machine {
  /** Names its sequencer, if it has told of keys with an owner. */
  node: string | undefined;
  /** The rooms of which everything that it had is here. */
  readonly pulled: Set<string>;
  readonly different: Map<string, { count: number; patience: number }>;
  /** The epochs of its rooms, and since when what it changes arrives here without a gap. */
  readonly epochs: Map<string, { readonly epoch: string; readonly since: number }>;
}

/**
 * Keeps rooms the same on all machines: each one sends its own changes to the others, and the last writer wins. When two
 * meet, each pulls all rooms of the other. Digests find what was lost all the same.
 */
export class Machines {
  private readonly hubs = new Map<string, Machine>();
  private readonly pulls = new Map<string, Pull>();
  private timer: NodeJS.Timeout | undefined;
  private readonly pings = new OpenQuestions<string, ToMachine>();
  private readonly question = new SharedRun(() => this.ask());

  constructor(private readonly host: MachinesHost) {}

  onHere(hub: string): void {
    this.hubs.set(hub, { node: undefined, pulled: new Set(), different: new Map(), epochs: new Map() });
    this.timer ??= setInterval(
      owned('comparing state rooms with other machines', () => this.sendDigests()),
      DIGEST_MS,
    ).unref();
    own('pulling state rooms', this.pullAll(hub));
  }

  onGone(hub: string): void {
    const { node } = this.hubs.get(hub) ?? {};
    if (!this.hubs.delete(hub)) return;
    for (const pull of [...this.pulls.values()]) if (pull.hub === hub) pull.done();
    this.pings.gone(hub);
    if (node !== undefined) for (const { sequenced } of this.host.rooms.values()) sequenced.machineGone(node);
    this.host.onMachineGone();
  }

  close(): void {
    clearInterval(this.timer);
    for (const { done } of [...this.pulls.values()]) done();
    this.hubs.clear();
  }

  /** Resolves once a new room has what the other machines have of it; undefined if there are none. */
  fill(room: SharedRoom): Promise<unknown> | undefined {
    if (this.hubs.size === 0) return undefined;
    for (const { pulled } of this.hubs.values()) pulled.delete(room.sequenced.name);
    return Promise.all([...this.hubs.keys()].map((hub) => this.pull(hub, room)));
  }

  /** Resolves once what the other machines had changed is here, those that answer in time; undefined if there are none. */
  caughtUp(): Promise<void> | undefined {
    return this.hubs.size === 0 ? undefined : this.question.next();
  }

  private async ask(): Promise<void> {
    await this.pings.ask(this.hubs.keys(), PING_MS, (hub, question) =>
      this.host.sendToHub(hub, { type: 'ping', ...question }),
    );
  }

  /**
   * From which number a client continues that has had everything of a room on another machine at a time. It may have lacked what
   * was on its way then. Undefined if that is not known: the machine is gone, or was apart.
   */
  numberAt({ sequenced }: SharedRoom, epoch: string, timeMs: number): number | undefined {
    const from = (timeMs - ON_ITS_WAY_MS) * UNITS_PER_MS;
    if (from < sequenced.entries.forgottenClock) return undefined;
    for (const { epochs } of this.hubs.values()) {
      const known = epochs.get(sequenced.name);
      if (known?.epoch === epoch && known.since < timeMs - ON_ITS_WAY_MS) return sequenced.entries.seqBefore(from);
    }
    return undefined;
  }

  /** Sends the other machines what this one has changed. */
  publish(room: SharedRoom): void {
    const { entries, name } = room.sequenced;
    let after: number | undefined = room.sentToMachines;
    room.sentToMachines = entries.seq;
    while (after !== undefined && this.hubs.size > 0) {
      const page: EntryPage = pageOf(entries, after, (entry) => room.sequenced.isOwn(entry));
      after = page.next;
      if (page.changes.length === 0) return;
      const message = { type: 'changes', room: name, changes: page.changes.map(changeOf) } as const;
      for (const hub of this.hubs.keys()) this.host.sendToHub(hub, message);
    }
  }

  onMessage(hub: string, message: ToMachine): void {
    if (!this.hubs.has(hub)) return;
    if (message.type === 'ping') return this.host.sendToHub(hub, { type: 'pong', answers: message.request });
    if (message.type === 'pong') return void this.pings.answered(hub, message.answers, message);
    if (message.type === 'digests') {
      for (const digest of message.digests) this.compare(hub, digest);
      return;
    }
    const room = this.host.rooms.get(message.room);
    switch (message.type) {
      case 'changes':
        return room && this.take(room, hub, message.changes);
      case 'pull': {
        if (room) this.publish(room);
        const { changes, next } = room ? pageOf(room.sequenced.entries, message.after) : { changes: [] };
        // Of keys with an owner, each machine tells its own alone.
        const given = changes.filter(({ owner, origin }) => owner === undefined || origin === this.host.node);
        const known = room && next === undefined ? [...room.sequenced.knownUpTo] : undefined;
        const page = { type: 'page', room: message.room, changes: given.map(changeOf) } as const;
        return this.host.sendToHub(hub, { ...page, next, known });
      }
      case 'page': {
        const pull = this.pulls.get(pullOf(hub, message.room));
        if (!pull) return;
        const { sequenced } = pull.room;
        for (const change of message.changes) {
          this.noteOwner(hub, change);
          const wasHere = change.clock <= (pull.knownUpTo.get(change.origin) ?? -1);
          if (sequenced.merge(change, wasHere) === 'taken') pull.taken++;
        }
        this.host.changed(pull.room);
        if (message.next !== undefined)
          return this.host.sendToHub(hub, { type: 'pull', room: message.room, after: message.next });
        for (const [origin, clock] of message.known ?? []) sequenced.hasKnown(origin, clock);
        this.hubs.get(hub)!.pulled.add(message.room);
        pull.done();
      }
    }
  }

  private take(room: SharedRoom, hub: string, changes: readonly KeyChange[]): void {
    const { sequenced } = room;
    const hasAll = this.hubs.get(hub)!.pulled.has(sequenced.name);
    for (const change of changes) {
      this.noteOwner(hub, change);
      // It was made just now, although its time may be before that of others: so it was not deleted since.
      sequenced.merge(change, false);
      if (hasAll) sequenced.hasKnown(change.origin, change.clock);
    }
    this.host.changed(room);
  }

  private noteOwner(hub: string, { owner, origin }: KeyChange): void {
    if (owner !== undefined) this.hubs.get(hub)!.node = origin;
  }

  private async pullAll(hub: string): Promise<void> {
    for (const room of [...this.host.rooms.values()]) await this.pull(hub, room);
  }

  /** Resolves with how many keys another machine had newer, once all are here, or it does not answer. */
  private async pull(hub: string, room: SharedRoom): Promise<number> {
    const { name } = room.sequenced;
    const id = pullOf(hub, name);
    if (!this.hubs.has(hub) || this.pulls.has(id)) return 0;
    let done = () => {};
    const isDone = new Promise<void>((resolve) => {
      done = resolve;
    });
    const pull = { hub, room, knownUpTo: room.sequenced.knownUpTo, taken: 0, done };
    this.pulls.set(id, pull);
    this.host.sendToHub(hub, { type: 'pull', room: name, after: 0 });
    await within(PULL_MS, isDone);
    this.pulls.delete(id);
    return pull.taken;
  }

  private sendDigests(): void {
    if (this.hubs.size === 0) return;
    const digests = [...this.host.rooms.values()].map(({ sequenced }) => sequenced.digest());
    for (let at = 0; at < digests.length; at += DIGESTS) {
      const message = { type: 'digests', digests: digests.slice(at, at + DIGESTS) } as const;
      for (const hub of this.hubs.keys()) this.host.sendToHub(hub, message);
    }
  }

  private compare(hub: string, [name, count, sum, isQuiet, epoch]: Digest): void {
    const room = this.host.rooms.get(name);
    const { different, epochs } = this.hubs.get(hub)!;
    if (!room) return;
    if (epochs.get(name)?.epoch !== epoch) epochs.set(name, { epoch, since: Date.now() });
    const [, ownCount, ownSum, isQuietHere] = room.sequenced.digest();
    if (count === ownCount && sum === ownSum) return void different.delete(name);
    const found = different.get(name) ?? { count: 0, patience: 1 };
    different.set(name, found);
    const most = (isQuiet && isQuietHere ? MAX_DIFFERENT : MAX_DIFFERENT_BUSY) * found.patience;
    if (++found.count < most) return;
    found.count = 0;
    const pulled = this.pull(hub, room).then((taken) => {
      // What differs because of the bounds stays different.
      found.patience = taken > 0 ? 1 : Math.min(2 * found.patience, MAX_PATIENCE);
    });
    own('pulling a state room', pulled);
  }
}

const pullOf = (hub: string, room: string) => `${hub} ${room}`;
