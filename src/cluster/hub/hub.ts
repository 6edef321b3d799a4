import { delay, nextTick } from '../../base/clock.js';
import { MalformedMessage } from '../../base/errors.js';
import type { OpenHubService } from '../../base/hub-service.js';
import { own, reportFailure } from '../../base/owner.js';
import { within } from '../../base/within.js';
import type { SharedWindow } from '../../engine/delivery/shared-window.js';
import { ConnectionHealth, malformed } from '../backplanes/connection-health.js';
import type { RoomKey } from '../backplanes/frames/interest/rooms.js';
import type { PubSub } from '../backplanes/pub-sub.js';
import { HUB, type MeshLinks } from '../mesh/mesh.js';
import { addressees, Envelope, numbers, numbersOf, pack, senderOf } from '../wire/envelope.js';
import { ENVELOPES, openHubFrame } from '../wire/hub-frame.js';
import { isOfApplication, types } from '../wire/types.js';
import { statusOf } from './hub-health.js';
import { type OtherHub, OtherHubs } from './other-hubs.js';
import { HubServices } from './services.js';
import { Side } from './side.js';

/** What one frame to another machine counts as in the window, in ms: its wake-ups at both hubs, at the server and at the workers there. */
const FRAME_COST_MS = 0.6;
/** Above this number of bytes for a machine, they do not wait for the window. */
const MAX_HELD_BYTES = 1024 * 1024;
/** How often the workers are told what has changed in the counts, and other hubs that this one is there, in ms. */
const TURN_MS = 1000;
/** How long the links to the workers are waited for, in ms: one that starts may keep its event loop busy for minutes. */
const LINK_MS = 2000;
/** How often, and for how long, the rooms of the workers are waited for, in ms. */
const WAIT_MS = 20;
const MAX_WAIT_MS = 1000;

/** A worker of this machine. */
interface Local {
  readonly number: number;
  readonly parts: Map<number, LocalPart>;
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
  /** The links to the workers of the machine. */
  readonly mesh: MeshLinks;
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
  /** Resolves when it is linked with the workers that were there before it, as far as these answer. */
  private readonly isLinked: Promise<void> | undefined;
  /** The state that the workers know. */
  private status = '';
  /** Of the messages that could not be sent, those that workers have been told of. */
  private told = 0;
  private readonly hold: () => void;
  private readonly timer: NodeJS.Timeout;
  /** The Socket.IO servers whose emitters are heard. */
  private readonly heard = new Set<number>();

  constructor(private readonly surroundings: HubParts) {
    const { mesh, window, bridge, loadService } = surroundings;
    this.health = bridge?.pubSub.health ?? ConnectionHealth.ofNone();
    this.isLinked = surroundings.isLinked && within(LINK_MS, surroundings.isLinked);
    this.services = new HubServices(
      {
        isAlone: bridge === undefined,
        isLinked: this.isLinked,
        workers: () => this.locals.keys(),
        sendToWorker: (service, worker, message) => mesh.send(worker, this.pack(types.service, message, service)),
        sendToHub: (service, id, message) => {
          const hub = this.hubs.get(id);
          if (hub) this.add(hub, this.pack(types.service, message, service));
        },
        attempt: (work) => this.toService(work),
      },
      loadService,
    );
    this.hold = window.share(() => (this.others?.flush() ?? 0) * FRAME_COST_MS);
    this.localSide = new Side({
      members: () => this.localParts,
      tell: ({ worker, part }, type, all) => mesh.send(worker.number, this.pack(type, numbers(all), part)),
      give: ({ worker }, envelope) => mesh.send(worker.number, envelope),
    });
    this.otherSide = new Side({
      members: () => this.hubs,
      tell: (hub, type, all) => {
        hub.out.add(this.pack(type, numbers(all)));
        // Somebody waits for it.
        if (type === types.pong) this.others?.flush();
        else this.hold();
      },
      give: (hub, envelope) => this.add(hub, envelope),
      // Without a clock, nothing has come from there.
      timeOf: ({ clock }, time) => (clock.isKnown ? clock.departure(time) : undefined),
      isUp: () => this.health.isUp,
      onAsked: () => nextTick(() => nextTick(() => this.others?.flush())),
    });
    Side.join<LocalPart, OtherHub>(this.localSide, this.otherSide);
    if (bridge) this.others = this.connect(bridge);
    this.health.listen(() => {
      // Before the messages that workers send as soon as they know.
      if (this.health.isUp) this.others?.mend();
      this.tellStatus();
    });
    mesh.on({
      onJoin: (worker) => this.workerHere(worker),
      onMessage: (worker, envelope) => this.guarded(() => this.fromLocal(worker, envelope)),
      onLeave: (worker) => this.workerGone(worker),
    });
    for (const worker of mesh.members) this.workerHere(worker);
    this.timer = setInterval(() => {
      // Before the greeting, which would count as pending.
      this.tellStatus();
      this.others?.turn();
    }, TURN_MS).unref();
  }

  private connect({ pubSub, channel, emittersOf }: Bridge): OtherHubs {
    const others = new OtherHubs(this.surroundings.machine, pubSub, channel, {
      onBegin: (hub) => this.introduce(hub),
      onLinked: (hub) => this.services.onHub(hub.id, true),
      onEnvelope: (hub, envelope) => this.fromOther(hub, envelope),
      onLost: (hub) => this.lost(hub),
      onUnsent: (hub) => this.interrupted(hub),
    });
    pubSub.listen({
      onMessage: (from, bytes) =>
        this.guarded(() => {
          const frame = openHubFrame(bytes);
          if (frame.type === types.emitted) this.onEmitted(from, bytes);
          else others.onFrame(frame, bytes);
        }),
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
    await this.isLinked;
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

  /** Messages that could not be sent, which no worker knows of. */
  get untold(): number {
    return this.health.unsent - this.told;
  }

  close(): void {
    clearInterval(this.timer);
    this.services.close();
    this.others?.close();
    this.localSide.close();
    this.otherSide.close();
    this.surroundings.mesh.close();
    this.surroundings.bridge?.pubSub.close();
  }

  // Workers

  private workerHere(number: number): void {
    if (this.locals.has(number)) return;
    this.locals.set(number, { number, parts: new Map() });
    for (const hub of this.hubs.values()) {
      if (hub.workers.size > 0) this.surroundings.mesh.send(number, ofOther(hub.machine, types.here, hub.workers));
    }
    this.tellOthers(types.here, number);
    this.services.onWorker(number, true);
    this.tellStatus(true);
  }

  private workerGone(number: number): void {
    const local = this.locals.get(number);
    if (!local) return;
    this.locals.delete(number);
    for (const part of local.parts.values()) {
      this.localParts.delete(part.id);
      this.localSide.forget(part);
    }
    this.tellOthers(types.gone, number);
    this.services.onWorker(number, false);
  }

  private fromLocal(number: number, envelope: Envelope): void {
    const local = this.locals.get(number);
    if (!local) return;
    const { hubs } = this;
    const { type, part } = envelope;
    switch (envelope.addressee) {
      case addressees.peer:
        if (type === types.service) return this.toService(() => this.services.onMessage(part, number, envelope.body));
        return this.localSide.hear(this.partOf(local, part), type, numbersOf(envelope.body));
      case addressees.all:
        for (const hub of hubs.values()) this.add(hub, envelope);
        return;
      case addressees.rooms:
        return this.otherSide.route(envelope);
      case addressees.worker: {
        const { worker, machine } = envelope.receiver;
        for (const hub of hubs.values()) {
          if (hub.machine === machine && hub.workers.has(worker)) return this.add(hub, envelope);
        }
        this.surroundings.mesh.send(number, ofOther(machine, types.gone, [worker]));
      }
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

  /** One malformed message must not take those after it along. */
  private guarded(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.drop(error);
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
    this.surroundings.mesh.send(worker.number, this.pack(types.rooms, numbers(this.otherSide.rooms.union), part));
    this.hearEmitters(part);
    return made;
  }

  // Other machines

  /** What another hub must know first. */
  private introduce({ out }: OtherHub): void {
    out.add(this.pack(types.here, numbers(this.locals.keys())));
    out.add(this.pack(types.rooms, numbers(this.localSide.rooms.union)));
  }

  private fromOther(hub: OtherHub, envelope: Envelope): void {
    const { type, part } = envelope;
    switch (envelope.addressee) {
      case addressees.peer:
        if (type === types.service)
          return this.toService(() => this.services.onHubMessage(part, hub.id, envelope.body));
        return this.heardFromOther(hub, envelope);
      case addressees.all:
        return this.passOn(envelope);
      case addressees.rooms:
        return this.localSide.route(envelope, (local) => local.part === part);
      case addressees.worker:
        this.surroundings.mesh.send(envelope.receiver.worker, envelope);
    }
  }

  private heardFromOther(hub: OtherHub, envelope: Envelope): void {
    const { type } = envelope;
    const all = numbersOf(envelope.body);
    if (type === types.here) for (const number of all) hub.workers.add(number);
    else if (type === types.gone) for (const number of all) hub.workers.delete(number);
    else return this.otherSide.hear(hub, type, all);
    this.sendToAll(envelope);
  }

  /** Hands a message to the workers that have its Socket.IO server. */
  private passOn(envelope: Envelope): void {
    for (const { worker, part } of this.localParts.values())
      if (part === envelope.part) this.surroundings.mesh.send(worker.number, envelope);
  }

  private lost(hub: OtherHub): void {
    this.services.onHub(hub.id, false);
    if (hub.workers.size > 0) this.sendToAll(ofOther(hub.machine, types.gone, hub.workers));
    hub.workers.clear();
    this.otherSide.forget(hub);
  }

  /** Nobody waits any longer for answers to what has not arrived. */
  private interrupted({ id, machine, workers }: OtherHub): void {
    this.services.onHub(id, false);
    if (workers.size === 0) return;
    this.sendToAll(ofOther(machine, types.gone, workers));
    this.sendToAll(ofOther(machine, types.here, workers));
  }

  /** What is published on a channel on which emitters publish. They do not know the number of the server that the channel is for. */
  private onEmitted(channel: string, bytes: Buffer): void {
    const { emittersOf } = this.surroundings.bridge!;
    const part = [...this.heard].find((part) => emittersOf?.(part) === channel);
    if (part === undefined) return;
    const envelope = new Envelope(bytes, ENVELOPES);
    while (envelope.next()) {
      if (!isOfApplication(envelope.type)) throw new MalformedMessage('an emitter sends what only workers send');
      envelope.part = part;
      // What nobody has goes to all: their keepers must know what a client misses that is away.
      if (envelope.addressee === addressees.rooms && this.isKnown(envelope.keys))
        this.localSide.route(envelope, (local) => local.part === part);
      else this.passOn(envelope);
    }
    envelope.expectEnd();
  }

  /** Whether any worker has one of the rooms. */
  private isKnown(keys: readonly RoomKey[]): boolean {
    const { localSide, otherSide } = this;
    return keys.some((key) => localSide.rooms.union.has(key) || otherSide.rooms.union.has(key));
  }

  private hearEmitters(part: number): void {
    const { pubSub, emittersOf } = this.surroundings.bridge ?? {};
    if (!emittersOf || this.heard.has(part)) return;
    this.heard.add(part);
    own('subscribing to the channel of emitters', pubSub!.subscribe(emittersOf(part)));
  }

  // Sending

  private add(hub: OtherHub, envelope: Envelope | Buffer): void {
    hub.out.add(envelope);
    if (hub.out.bytes > MAX_HELD_BYTES) this.others?.send(hub);
    else this.hold();
  }

  private tellOthers(type: number, worker: number): void {
    if (this.hubs.size === 0) return;
    const envelope = this.pack(type, numbers([worker]));
    for (const { out } of this.hubs.values()) out.add(envelope);
    this.hold();
  }

  private sendToAll(envelope: Envelope | Buffer): void {
    for (const number of this.locals.keys()) this.surroundings.mesh.send(number, envelope);
  }

  /** Tells the workers what is known of the server, if something has changed, or if it is `due`. */
  private tellStatus(isDue = false): void {
    const status = statusOf(this.health);
    if (status === this.status && !isDue) return;
    this.status = status;
    if (this.locals.size > 0) this.told = this.health.unsent;
    this.sendToAll(this.pack(types.status, status));
  }

  private pack(type: number, body: string | Uint8Array, part = 0): Buffer {
    return pack({ type, part, from: senderOf(HUB, this.surroundings.machine) }, body);
  }
}

/** What a hub says of the workers of another machine. */
const ofOther = (machine: string, type: number, workers: Iterable<number>): Buffer =>
  pack({ type, part: 0, from: senderOf(HUB, machine) }, numbers(workers));
