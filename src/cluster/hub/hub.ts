import { delay, nextTick } from '../../base/clock.js';
import { MalformedMessage } from '../../base/errors.js';
import type { OpenHubService } from '../../base/hub-service.js';
import { own, reportFailure } from '../../base/owner.js';
import type { SharedWindow } from '../../engine/delivery/shared-window.js';
import { ConnectionHealth, malformed } from '../backplanes/connection-health.js';
import {
  EntryReader,
  entryKinds,
  hubHead,
  hubNumbers,
  hubTypes,
  MACHINE,
  NO_MACHINE,
  Outgoing,
  serviceEntry,
} from '../backplanes/frames/hub/entries.js';
import type { RoomKey } from '../backplanes/frames/interest/rooms.js';
import { Fences, ticksNow, Withheld } from '../backplanes/frames/interest/withheld.js';
import { messageOf, numbersMessage, numbersOf, readEmitted, types } from '../backplanes/frames/wire/message.js';
import type { PubSub } from '../backplanes/pub-sub.js';
import { RoomIndex } from './hub-frame.js';
import { StatusBoard } from './hub-status.js';
import { type OtherHub, OtherHubs } from './other-hubs.js';
import { HubServices } from './services.js';

/** What one frame to another machine counts as in the window, in ms: its wake-ups at both hubs, at the server and at the workers there. */
const FRAME_COST_MS = 0.6;
/** Above this number of bytes for a machine, they do not wait for the window. */
const MAX_HELD_BYTES = 1024 * 1024;
/** How often the workers are told what has changed in the counts, and other hubs that this one is there, in ms. */
const TURN_MS = 1000;
/** How often, and for how long, the rooms of the workers are waited for, in ms. */
const WAIT_MS = 20;
const MAX_WAIT_MS = 1000;

/** The workers of this machine, as the hub reaches them. */
export interface HubWorkers {
  send(worker: number, message: Buffer): void;
  /** There is one listener. */
  listen(listener: HubWorkersListener): void;
  close(): void;
}

export interface HubWorkersListener {
  onHere(worker: number): void;
  onMessage(worker: number, message: Buffer): void;
  /** All messages of the worker have been handed over. */
  onGone(worker: number): void;
}

/** A worker of this machine. */
interface Local {
  readonly number: number;
  readonly parts: Map<number, LocalPart>;
  /** What goes to it behind the frame that is being handled. */
  readonly out: Outgoing;
}

/** A Socket.IO server of a worker. */
interface LocalPart {
  readonly id: string;
  readonly worker: Local;
  readonly part: number;
  rooms: Set<RoomKey> | undefined;
}

/** A message that some have not got, because they had announced no members of its rooms. */
interface Kept {
  readonly keys: readonly RoomKey[];
  readonly bytes: number;
  readonly entry: Buffer;
  readonly machine: string;
}

/** What a hub connects. */
export interface HubParts {
  readonly machine: string;
  readonly workers: HubWorkers;
  /** The way to other machines; undefined if there is none. */
  readonly bridge?: Bridge | undefined;
  readonly window: SharedWindow;
  /** Resolves when it is linked with all workers that were there before it. */
  readonly isLinked?: Promise<void>;
  /** Finds a service by its number. */
  readonly loadService?: (service: number) => OpenHubService | undefined;
}

/** What a hub reaches those of other machines over. */
interface Bridge {
  readonly pubSub: PubSub;
  /** The channel on which hubs meet. Those of the hubs begin with the same name. */
  readonly channel: string;
  /** The channel on which emitters publish for the Socket.IO server with this number; undefined if hubs carry no frames. */
  readonly emittersOf: ((part: number) => string) | undefined;
}

const NO_HUBS: ReadonlyMap<string, OtherHub> = new Map();

/**
 * The hub of a machine: forwards messages between its workers and the hubs of other machines. It announces to its workers the
 * rooms that other machines have, and to other hubs those that its workers have. All arrives on one way and in order.
 */
export class Hub {
  private readonly locals = new Map<number, Local>();
  private readonly localRooms = new RoomIndex<LocalPart>();
  private readonly otherRooms = new RoomIndex<OtherHub>();
  /** The links to other hubs; undefined without a bridge. */
  private readonly others: OtherHubs | undefined;
  private readonly services: HubServices;
  private readonly fencesToOthers: Fences;
  private readonly fencesToLocals: Fences;
  private readonly localParts = new Map<string, LocalPart>();
  private readonly withheldFromLocals = new Withheld<Kept>(() => {});
  private readonly withheldFromOthers = new Withheld<Kept>(() => {});
  private readonly health: ConnectionHealth;
  private readonly status: StatusBoard;
  private readonly hold: () => void;
  private readonly timer: NodeJS.Timeout;
  /** The Socket.IO servers whose emitters are heard. */
  private readonly heard = new Set<number>();

  constructor(private readonly surroundings: HubParts) {
    const { workers, window, bridge, loadService } = surroundings;
    this.health = bridge?.pubSub.health ?? ConnectionHealth.ofNone();
    this.services = new HubServices(
      {
        isAlone: bridge === undefined,
        workers: () => this.locals.keys(),
        sendToWorker: (service, worker, message) => this.sendTo(worker, NO_MACHINE, serviceEntry(service, message)),
        sendToHub: (service, hub, message) => this.sendToHub(hub, serviceEntry(service, message)),
        attempt: (work) => this.toService(work),
      },
      loadService,
    );
    this.hold = window.share(() => (this.others?.flush() ?? 0) * FRAME_COST_MS);
    this.fencesToOthers = new Fences((number, id) => {
      this.hubs.get(id)?.out.addBytes(hubNumbers(types.ping, [number]));
    });
    this.fencesToLocals = new Fences((number, id) => {
      const part = this.localParts.get(id);
      if (part) this.tell(part, numbersMessage(types.ping, [number]));
    });
    if (bridge) this.others = this.connect(bridge);
    this.status = new StatusBoard(this.health, {
      workers: () => this.locals.keys(),
      tell: (worker, entry) => this.sendTo(worker, NO_MACHINE, entry),
    });
    this.health.listen(() => {
      // Before the messages that workers send as soon as they know.
      if (this.health.isUp) this.others?.mend();
      this.status.tell();
    });
    workers.listen({
      onHere: (worker) => this.workerHere(worker),
      onMessage: (worker, message) => this.receive(worker, message),
      onGone: (worker) => this.workerGone(worker),
    });
    this.timer = setInterval(() => {
      // Before the greeting, which would count as pending.
      this.status.tell();
      this.others?.turn();
    }, TURN_MS).unref();
  }

  private connect({ pubSub, channel, emittersOf }: Bridge): OtherHubs {
    const others = new OtherHubs(this.surroundings.machine, pubSub, channel, {
      onBegin: (hub) => this.introduce(hub),
      onLinked: (hub) => this.services.onHub(hub.id, true),
      onEntry: (hub, reader) => this.fromOther(hub, reader),
      onFrameEnd: (hub) => this.sendToLocals(hub.machine),
      onLost: (hub) => this.lost(hub),
      onUnsent: (hub) => this.interrupted(hub),
    });
    pubSub.listen({
      onMessage: (from, bytes) => {
        try {
          if (from === others.ownChannel) others.onFrame(bytes);
          else if (from === channel) others.onGreeting(bytes);
          else this.onEmitted(from, bytes);
        } catch (error) {
          this.drop(error);
        }
      },
      onRenewed: () => this.begin(others),
    });
    for (const each of [others.ownChannel, channel]) own('subscribing to the channels of hubs', pubSub.subscribe(each));
    if (emittersOf) this.hearEmitters(0);
    return others;
  }

  private get hubs(): ReadonlyMap<string, OtherHub> {
    return this.others?.hubs ?? NO_HUBS;
  }

  /** Meets other hubs, once the rooms of the workers are known. */
  private async begin(others: OtherHubs): Promise<void> {
    await this.surroundings.isLinked;
    for (let waited = 0; waited < MAX_WAIT_MS && !this.knowsRooms; waited += WAIT_MS) await delay(WAIT_MS);
    await others.begin();
    // It counts as up once the others know its rooms, too.
    await this.passOthers(others);
  }

  /** Resolves when the workers of other machines have handled all that was sent to them. */
  private passOthers(others: OtherHubs): Promise<boolean> {
    const passed = this.fencesToOthers.pass(others.hubs.keys());
    nextTick(() => nextTick(() => others.flush()));
    return passed;
  }

  private get knowsRooms(): boolean {
    for (const { parts } of this.locals.values()) {
      for (const { rooms } of parts.values()) if (!rooms) return false;
    }
    return true;
  }

  close(): void {
    clearInterval(this.timer);
    this.services.close();
    this.others?.close();
    this.fencesToLocals.close();
    this.fencesToOthers.close();
    this.surroundings.workers.close();
    this.surroundings.bridge?.pubSub.close();
  }

  // Workers

  private workerHere(number: number): void {
    if (this.locals.has(number)) return;
    const local: Local = { number, parts: new Map(), out: new Outgoing() };
    this.locals.set(number, local);
    for (const hub of this.hubs.values()) {
      if (hub.workers.size > 0) this.sendTo(number, hub.machine, hubNumbers(hubTypes.here, hub.workers));
    }
    this.tellOthers(hubNumbers(hubTypes.here, [number]));
    this.services.onWorker(number, true);
    this.status.tell(true);
  }

  private workerGone(number: number): void {
    const local = this.locals.get(number);
    if (!local) return;
    this.locals.delete(number);
    for (const part of local.parts.values()) {
      this.localParts.delete(part.id);
      this.fencesToLocals.leave(part.id);
      this.announceToOthers([], this.localRooms.forget(part));
    }
    this.tellOthers(hubNumbers(hubTypes.gone, [number]));
    this.services.onWorker(number, false);
    this.status.tell(true);
  }

  private receive(number: number, bytes: Buffer): void {
    const local = this.locals.get(number);
    if (!local) return;
    try {
      const reader = new EntryReader(bytes, 0);
      while (reader.next()) this.fromLocal(local, reader);
    } catch (error) {
      this.drop(error);
    }
  }

  private fromLocal(local: Local, reader: EntryReader): void {
    const { hubs } = this;
    switch (reader.kind) {
      case entryKinds.hub:
        return this.heardFrom(this.partOf(local, reader.part), reader.type, numbersOf(reader.body));
      case entryKinds.all:
        for (const hub of hubs.values()) this.add(hub, reader);
        return;
      case entryKinds.rooms: {
        const { keys } = reader;
        const receivers = this.otherRooms.of(keys);
        for (const hub of receivers) this.add(hub, reader);
        if (receivers.length < hubs.size) this.keep(this.withheldFromOthers, reader, keys, receivers, NO_MACHINE);
        return;
      }
      case entryKinds.worker: {
        const { worker, machine } = reader.receiver;
        for (const hub of hubs.values()) {
          if (hub.machine === machine && hub.workers.has(worker)) return this.add(hub, reader);
        }
        return this.sendTo(local.number, machine, hubNumbers(hubTypes.gone, [worker]));
      }
      case entryKinds.service:
        return this.toService(() => this.services.onMessage(reader.part, local.number, reader.body));
    }
  }

  /** What a service throws must not take what follows along. */
  private toService(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      if (error instanceof MalformedMessage) this.drop(error);
      else reportFailure('a service of the hub', error);
    }
  }

  private drop(error: unknown): void {
    this.health.inbox.drop(malformed(error));
  }

  private partOf(worker: Local, part: number): LocalPart {
    const known = worker.parts.get(part);
    if (known) return known;
    const made: LocalPart = { id: `${worker.number}:${part}`, worker, part, rooms: undefined };
    worker.parts.set(part, made);
    this.localParts.set(made.id, made);
    this.tell(made, numbersMessage(types.rooms, this.otherRooms.union));
    this.hearEmitters(part);
    return made;
  }

  /** What a worker tells of its rooms. */
  private heardFrom(local: LocalPart, type: number, numbers: readonly number[]): void {
    const { localRooms } = this;
    switch (type) {
      case types.added: {
        const [since = 0, ...keys] = numbers;
        if (!local.rooms) return;
        const added = localRooms.add(local, keys);
        for (const { entry, machine } of this.withheldFromLocals.takeFor(local, keys, since)) {
          this.sendTo(local.worker.number, machine, entry);
        }
        return this.announceToOthers(added, [], since);
      }
      case types.removed:
        return this.announceToOthers([], localRooms.remove(local, numbers));
      case types.rooms: {
        const before = localRooms.forget(local);
        const added = localRooms.add(local, numbers);
        return this.announceToOthers(
          added,
          before.filter((key) => !localRooms.union.has(key)),
        );
      }
      case types.ping: {
        const pong = () => this.tell(local, numbersMessage(types.pong, numbers));
        if (!this.health.isUp || this.hubs.size === 0 || !this.others) return pong();
        const passed = this.passOthers(this.others).then(pong);
        return own('asking other machines', passed);
      }
      case types.pong:
        return this.fencesToLocals.answered(local.id, numbers[0] ?? 0);
    }
  }

  // Other machines

  /** What another hub must know first. */
  private introduce({ out }: OtherHub): void {
    out.addBytes(hubNumbers(hubTypes.here, this.locals.keys()));
    out.addBytes(hubNumbers(types.rooms, this.localRooms.union));
  }

  private fromOther(hub: OtherHub, reader: EntryReader): void {
    switch (reader.kind) {
      case entryKinds.hub:
        // In order with what came before.
        this.sendToLocals(hub.machine);
        return this.heardFromOther(hub, reader.type, numbersOf(reader.body));
      case entryKinds.all:
        for (const { worker, part } of this.localParts.values()) if (part === reader.part) worker.out.add(reader);
        return;
      case entryKinds.rooms: {
        const { keys, part } = reader;
        let missed = 0;
        const owners = this.localRooms.of(keys);
        const receivers: LocalPart[] = [];
        for (const local of this.localParts.values()) {
          if (local.part !== part) continue;
          // Until a worker has announced its rooms, it gets everything.
          if (owners.includes(local) || !local.rooms) {
            local.worker.out.add(reader);
            receivers.push(local);
          } else missed++;
        }
        if (missed > 0) this.keep(this.withheldFromLocals, reader, keys, receivers, hub.machine);
        return;
      }
      case entryKinds.worker:
        this.locals.get(reader.receiver.worker)?.out.add(reader);
        return;
      case entryKinds.service:
        // In order with what came before.
        this.sendToLocals(hub.machine);
        return this.toService(() => this.services.onHubMessage(reader.part, hub.id, reader.body));
    }
  }

  private heardFromOther(hub: OtherHub, type: number, numbers: readonly number[]): void {
    const { otherRooms } = this;
    switch (type) {
      case hubTypes.here:
        for (const number of numbers) hub.workers.add(number);
        return this.sendToAll(hub.machine, hubNumbers(hubTypes.here, numbers));
      case hubTypes.gone:
        for (const number of numbers) hub.workers.delete(number);
        return this.sendToAll(hub.machine, hubNumbers(hubTypes.gone, numbers));
      case types.rooms:
        return this.announceToLocals(otherRooms.add(hub, numbers), [], ticksNow());
      case types.added: {
        const [since = 0, ...keys] = numbers;
        const added = otherRooms.add(hub, keys);
        for (const { entry } of this.withheldFromOthers.takeFor(hub, keys, since)) hub.out.addBytes(entry);
        if (!hub.out.isEmpty) this.hold();
        return this.announceToLocals(added, [], since);
      }
      case types.removed:
        return this.announceToLocals([], otherRooms.remove(hub, numbers), 0);
      case types.ping: {
        const passed = this.fencesToLocals.pass(this.localParts.keys()).then(() => {
          if (this.hubs.get(hub.id) !== hub) return;
          hub.out.addBytes(hubNumbers(types.pong, numbers));
          this.others?.flush();
        });
        return own('asking the workers of this machine', passed);
      }
      case types.pong:
        return this.fencesToOthers.answered(hub.id, numbers[0] ?? 0);
    }
  }

  private lost(hub: OtherHub): void {
    this.fencesToOthers.leave(hub.id);
    this.services.onHub(hub.id, false);
    if (hub.workers.size > 0) this.sendToAll(hub.machine, hubNumbers(hubTypes.gone, hub.workers));
    hub.workers.clear();
    this.announceToLocals([], this.otherRooms.forget(hub), 0);
  }

  /** Nobody waits any longer for answers to what has not arrived. */
  private interrupted({ id, machine, workers }: OtherHub): void {
    this.services.onHub(id, false);
    if (workers.size === 0) return;
    this.sendToAll(machine, hubNumbers(hubTypes.gone, workers));
    this.sendToAll(machine, hubNumbers(hubTypes.here, workers));
  }

  /** What is published on a channel on which emitters publish. */
  private onEmitted(channel: string, bytes: Buffer): void {
    const { emittersOf } = this.surroundings.bridge!;
    const part = [...this.heard].find((part) => emittersOf?.(part) === channel);
    if (part === undefined) return;
    const out = new Outgoing();
    const head = Buffer.from(hubHead(part, 0));
    head[0] = entryKinds.all;
    readEmitted(bytes, (type, body) => out.addBytes(Buffer.concat([head, messageOf(type, body)])));
    const frame = out.take(Buffer.from(NO_MACHINE, 'latin1'));
    for (const local of this.locals.values())
      if (local.parts.has(part)) this.surroundings.workers.send(local.number, frame);
  }

  private hearEmitters(part: number): void {
    const { pubSub, emittersOf } = this.surroundings.bridge ?? {};
    if (!emittersOf || this.heard.has(part)) return;
    this.heard.add(part);
    own('subscribing to the channel of emitters', pubSub!.subscribe(emittersOf(part)));
  }

  // Sending

  private add(hub: OtherHub, reader: EntryReader): void {
    hub.out.add(reader);
    this.sendSoon(hub);
  }

  private sendToHub(id: string, entry: Buffer): void {
    const hub = this.hubs.get(id);
    if (!hub) return;
    hub.out.addBytes(entry);
    this.sendSoon(hub);
  }

  private sendSoon(hub: OtherHub): void {
    if (hub.out.bytes > MAX_HELD_BYTES) this.others?.send(hub);
    else this.hold();
  }

  private keep<Owner extends { readonly id: string }>(
    withheld: Withheld<Kept>,
    { entry }: EntryReader,
    keys: readonly RoomKey[],
    receivers: readonly Owner[],
    machine: string,
  ): void {
    // The bytes that it came in may be many.
    const kept = { keys, bytes: entry.length, entry: Buffer.from(entry), machine };
    withheld.keep(kept, [...receivers], ticksNow());
  }

  private tellOthers(entry: Buffer): void {
    if (this.hubs.size === 0) return;
    for (const { out } of this.hubs.values()) out.addBytes(entry);
    this.hold();
  }

  /** @param since when the first of the members entered the added rooms */
  private announceToOthers(added: readonly RoomKey[], removed: readonly RoomKey[], since = ticksNow()): void {
    if (added.length === 0 && removed.length === 0) return;
    for (const { out, clock } of this.hubs.values()) {
      // Without a clock, nothing has come from there, so nothing that was sent is late.
      if (added.length > 0 && !clock.isKnown) out.addBytes(hubNumbers(types.rooms, added));
      else if (added.length > 0) out.addBytes(hubNumbers(types.added, [clock.departure(since), ...added]));
      if (removed.length > 0) out.addBytes(hubNumbers(types.removed, removed));
    }
    this.hold();
  }

  private announceToLocals(added: readonly RoomKey[], removed: readonly RoomKey[], since: number): void {
    if (added.length > 0) this.tellLocals(numbersMessage(types.added, [since, ...added]));
    if (removed.length > 0) this.tellLocals(numbersMessage(types.removed, removed));
  }

  private tellLocals(message: Buffer): void {
    for (const local of this.localParts.values()) this.tell(local, message);
  }

  private tell({ worker, part }: LocalPart, message: Buffer): void {
    this.sendTo(worker.number, NO_MACHINE, Buffer.concat([hubHead(part, 0), message]));
  }

  private sendToAll(machine: string, entry: Buffer): void {
    for (const number of this.locals.keys()) this.sendTo(number, machine, entry);
  }

  private sendTo(number: number, machine: string, entry: Buffer): void {
    this.surroundings.workers.send(number, Buffer.concat([Buffer.from(machine, 'latin1'), entry]));
  }

  /** Hands on the messages of a frame. */
  private sendToLocals(machine: string): void {
    for (const { number, out } of this.locals.values()) {
      if (!out.isEmpty)
        this.surroundings.workers.send(number, out.take(Buffer.from(machine, 'latin1').subarray(0, MACHINE)));
    }
  }
}
