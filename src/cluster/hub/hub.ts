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
import { messageOf, numbersOf, readEmitted, types } from '../backplanes/frames/wire/message.js';
import type { PubSub } from '../backplanes/pub-sub.js';
import { StatusBoard } from './hub-status.js';
import { type OtherHub, OtherHubs } from './other-hubs.js';
import { HubServices } from './services.js';
import { Side } from './side.js';

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
  private readonly localParts = new Map<string, LocalPart>();
  private readonly localSide: Side<LocalPart>;
  private readonly otherSide: Side<OtherHub>;
  /** The links to other hubs; undefined without a bridge. */
  private readonly others: OtherHubs | undefined;
  private readonly services: HubServices;
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
        isLinked: surroundings.isLinked,
        workers: () => this.locals.keys(),
        sendToWorker: (service, worker, message) => this.sendTo(worker, NO_MACHINE, serviceEntry(service, message)),
        sendToHub: (service, id, message) => {
          const hub = this.hubs.get(id);
          if (hub) this.add(hub, serviceEntry(service, message));
        },
        attempt: (work) => this.toService(work),
      },
      loadService,
    );
    this.hold = window.share(() => (this.others?.flush() ?? 0) * FRAME_COST_MS);
    this.localSide = new Side({
      members: () => this.localParts,
      tell: ({ worker, part }, type, numbers) =>
        this.sendTo(worker.number, NO_MACHINE, hubNumbers(type, numbers, part)),
      give: ({ worker }, entry, machine) => this.sendTo(worker.number, machine, entry),
    });
    this.otherSide = new Side({
      members: () => this.hubs,
      tell: (hub, type, numbers) => {
        hub.out.addBytes(hubNumbers(type, numbers));
        // Somebody waits for it.
        if (type === types.pong) this.others?.flush();
        else this.hold();
      },
      give: (hub, entry) => this.add(hub, entry),
      // Without a clock, nothing has come from there.
      timeOf: ({ clock }, time) => (clock.isKnown ? clock.departure(time) : undefined),
      isUp: () => this.health.isUp,
      onAsked: () => nextTick(() => nextTick(() => this.others?.flush())),
    });
    Side.join<LocalPart, OtherHub>(this.localSide, this.otherSide);
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
    await this.otherSide.pass(true);
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
    this.localSide.close();
    this.otherSide.close();
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
      this.localSide.forget(part);
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
        return this.localSide.hear(this.partOf(local, reader.part), reader.type, numbersOf(reader.body));
      case entryKinds.all:
        for (const hub of hubs.values()) this.add(hub, reader);
        return;
      case entryKinds.rooms:
        return this.otherSide.route(
          reader,
          NO_MACHINE,
          () => true,
          (hub) => this.add(hub, reader),
        );
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
    this.sendTo(worker.number, NO_MACHINE, hubNumbers(types.rooms, this.otherSide.rooms.union, part));
    this.hearEmitters(part);
    return made;
  }

  // Other machines

  /** What another hub must know first. */
  private introduce({ out }: OtherHub): void {
    out.addBytes(hubNumbers(hubTypes.here, this.locals.keys()));
    out.addBytes(hubNumbers(types.rooms, this.localSide.rooms.union));
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
      case entryKinds.rooms:
        return this.localSide.route(
          reader,
          hub.machine,
          ({ part }) => part === reader.part,
          ({ worker }) => worker.out.add(reader),
        );
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
    if (type === hubTypes.here) for (const number of numbers) hub.workers.add(number);
    else if (type === hubTypes.gone) for (const number of numbers) hub.workers.delete(number);
    else return this.otherSide.hear(hub, type, numbers);
    this.sendToAll(hub.machine, hubNumbers(type, numbers));
  }

  private lost(hub: OtherHub): void {
    this.services.onHub(hub.id, false);
    if (hub.workers.size > 0) this.sendToAll(hub.machine, hubNumbers(hubTypes.gone, hub.workers));
    hub.workers.clear();
    this.otherSide.forget(hub);
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

  private add(hub: OtherHub, entry: EntryReader | Buffer): void {
    if (entry instanceof EntryReader) hub.out.add(entry);
    else hub.out.addBytes(entry);
    if (hub.out.bytes > MAX_HELD_BYTES) this.others?.send(hub);
    else this.hold();
  }

  private tellOthers(entry: Buffer): void {
    if (this.hubs.size === 0) return;
    for (const { out } of this.hubs.values()) out.addBytes(entry);
    this.hold();
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
