import { setImmediate } from '../base/clock.js';
import { MalformedMessage } from '../base/errors.js';
import type { HubLink } from '../base/hub-service.js';
import { attempt } from '../base/owner.js';
import { workerName } from '../base/worker-name.js';
import type { BusHealth } from './backplanes/bus-health.js';
import { ConnectionHealth, type Inbox, malformed } from './backplanes/connection-health.js';
import {
  EntryReader,
  entryKinds,
  headOf,
  hubHead,
  hubTypes,
  MACHINE,
  NO_MACHINE,
  serviceEntry,
  workerHead,
} from './backplanes/frames/hub/entries.js';
import { HubHealth } from './backplanes/frames/hub/hub-health.js';
import { EMITTER, endOf, HEADER, isOfInterest, messageOf, numbersOf, types } from './backplanes/frames/wire/message.js';
import type { HubStatus } from './hub/hub-status.js';
import { HUB as HUB_NUMBER, kinds, type MeshLinks } from './mesh/mesh.js';

/** The name of the hub of the machine. For rooms, it stands for all workers of other machines. */
export const HUB = 'hub';

/** The users of a node. Each has listeners of its own, by the number of the Socket.IO server, the engine or the service. */
export const channels = { bus: 0, relay: 1, service: 2 } as const;
type Channel = (typeof channels)[keyof typeof channels];

/** What a listener hears of other workers, by their names, and of the {@link HUB}. */
export interface NodeListener {
  /** May keep the body, and throw a MalformedMessage. @param type that of a message of a bus, see `types` */
  onMessage(from: string, body: Buffer, type: number): void;
  /** A worker of another machine, or the hub, is there, for the first time or again. It may be told already. */
  onHere?(name: string): void;
  /** After the last message of a worker, or after the end of the hub. */
  onGone?(name: string): void;
}

/** Collects the messages of one window for another worker, or for all behind the hub, and sends them together. */
export class Route {
  private pieces: Buffer[] = [];
  private messages = 0;

  /** @param head what goes before each message */
  constructor(
    private readonly head: ((message: Buffer, keys: readonly number[] | undefined) => Buffer) | undefined,
    private readonly write: (bytes: Buffer, messages: number) => void,
  ) {}

  /** @param keys the rooms that it is for; undefined if it is for all behind the route */
  add(message: Buffer, keys?: readonly number[]): void {
    if (this.head) this.pieces.push(this.head(message, keys));
    this.pieces.push(message);
    if (message[4]! <= types.cluster) this.messages++;
  }

  /** Sends what was added, and a last message. Never waits; what cannot be sent is dropped and counted. */
  send(message?: Buffer): void {
    if (message) this.add(message);
    const { pieces, messages } = this;
    this.pieces = [];
    this.messages = 0;
    this.write(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), messages);
  }
}

/**
 * A worker among all others that it can reach: those of its machine over the mesh, and those of other machines through the hub. All
 * that workers say to each other passes here. The messages of one to another arrive in order and once each, or the other is gone.
 */
export class Node {
  /** The name of this worker, unique among all workers that can reach each other. */
  readonly id: string;
  readonly health = new HubHealth();
  /** That of the way to other workers: among those of one machine, nothing is ever down. */
  readonly busHealth: BusHealth & { readonly inbox: Inbox };
  /** The workers of other machines. */
  readonly elsewhere = new Set<string>();
  private readonly listeners = new Map<string, NodeListener>();
  private isHubThere = false;

  /**
   * @param machine the id of this machine
   * @param isAlone whether there are no other machines, now and later
   * @param hub the link to the hub of the machine, if it has one
   */
  constructor(
    private readonly mesh: MeshLinks,
    readonly machine: string,
    readonly isAlone: boolean,
    private readonly hub?: HubLink,
  ) {
    this.id = this.nameOf(mesh.id);
    this.busHealth = isAlone ? ConnectionHealth.ofNone() : this.health;
    mesh.onLeave((worker) => this.each('onGone', this.nameOf(worker)));
    hub?.listen({
      onHere: () => this.hubHere(),
      onMessage: (bytes) => this.receive(bytes),
      onGone: () => this.hubGone(),
    });
  }

  /** The other workers of this machine. */
  get neighbours(): string[] {
    return this.mesh.members.map((worker) => this.nameOf(worker));
  }

  /** Whether workers of other machines can be reached, as far as there may be some. */
  get isUp(): boolean {
    return this.busHealth.isUp;
  }

  isElsewhere(worker: string): boolean {
    return !this.isAlone && !worker.endsWith(`.${this.machine}`);
  }

  /** Whether a worker can be reached, as far as this one knows. */
  has(worker: string): boolean {
    if (this.isElsewhere(worker)) return this.health.isUp;
    const number = numberOf(worker);
    // No session is on the hub.
    return number !== HUB_NUMBER && this.mesh.has(number);
  }

  on(channel: Channel, part: number, listener: NodeListener): void {
    this.listeners.set(`${channel}:${part}`, listener);
    if (channel !== channels.service) {
      const kind = channel === channels.bus ? kinds.bus : kinds.relay;
      this.mesh.listenTo(kind, (from, payload) => this.fromNeighbour(kind, listener, from, payload), part);
    }
    if (this.isHubThere) listener.onHere?.(HUB);
    for (const worker of this.elsewhere) listener.onHere?.(worker);
  }

  /** The way of a bus to a worker, or to the {@link HUB}. */
  routeTo(worker: string, part: number): Route {
    const own = this.mesh.id;
    const toHub = (bytes: Buffer, messages: number) => {
      if (!this.hub?.send(bytes)) this.health.lose(messages);
    };
    if (worker === HUB) {
      const head = (message: Buffer, keys?: readonly number[]) =>
        isOfInterest(message[4]!) ? hubHead(part, own) : headOf(part, own, keys);
      return new Route(head, toHub);
    }
    const number = numberOf(worker);
    if (this.isElsewhere(worker)) {
      const head = workerHead(part, own, number, machineOf(worker));
      return new Route(() => head, toHub);
    }
    return new Route(undefined, (bytes) => {
      this.mesh.send(number, kinds.bus, bytes, part);
      // Before a message to a client of this worker that was given after what the frame carries.
      this.mesh.flush();
    });
  }

  /** Sends to the relay of a worker. One of another machine that cannot be reached counts as gone. */
  relay(part: number, to: string, payload: Uint8Array): void {
    if (!this.isElsewhere(to)) return void this.mesh.send(numberOf(to), kinds.relay, payload, part);
    const head = workerHead(part, this.mesh.id, numberOf(to), machineOf(to));
    const isSent = this.elsewhere.has(to) && this.hub!.send(Buffer.concat([head, messageOf(hubTypes.relay, payload)]));
    if (!isSent) setImmediate(() => this.listeners.get(`${channels.relay}:${part}`)?.onGone?.(to));
  }

  /** The link of this worker to a service of the hub. */
  service(service: number): HubLink {
    return {
      send: (message) => this.hub?.send(serviceEntry(service, message, this.mesh.id)) ?? false,
      listen: ({ onHere, onMessage, onGone }) =>
        this.on(channels.service, service, {
          onMessage: (_from, body) => onMessage(body),
          onHere: (name) => name === HUB && onHere(),
          onGone: (name) => name === HUB && onGone(),
        }),
    };
  }

  /** The name of a worker of this machine. */
  nameOf(worker: number): string {
    return this.isAlone ? String(worker) : workerName(worker, this.machine);
  }

  private fromNeighbour(kind: number, listener: NodeListener, from: number, payload: Buffer): void {
    const name = this.nameOf(from);
    if (kind === kinds.relay) return listener.onMessage(name, payload, hubTypes.relay);
    try {
      for (let at = 0; at < payload.length; ) {
        const end = endOf(payload, at);
        listener.onMessage(name, payload.subarray(at + HEADER, end), payload[at + 4]!);
        at = end;
      }
    } catch (error) {
      this.drop(error);
    }
  }

  private hubHere(): void {
    this.isHubThere = true;
    this.each('onHere', HUB);
  }

  private hubGone(): void {
    this.isHubThere = false;
    this.each('onGone', HUB);
    for (const worker of [...this.elsewhere]) this.onGone(worker);
    this.health.gone();
  }

  private receive(bytes: Buffer): void {
    try {
      const machine = bytes.toString('latin1', 0, MACHINE);
      const reader = new EntryReader(bytes, MACHINE);
      while (reader.next()) this.guarded(() => this.handle(reader, machine));
    } catch (error) {
      this.drop(error);
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
    this.busHealth.inbox.drop(malformed(error));
  }

  private handle({ kind, part, sender, type, body }: EntryReader, machine: string): void {
    if (kind === entryKinds.service)
      return this.listeners.get(`${channels.service}:${part}`)?.onMessage(HUB, body, type);
    if (kind === entryKinds.hub) return this.handleOfHub(part, type, body, machine);
    if (type !== hubTypes.relay && (isOfInterest(type) || type > types.cluster))
      throw new MalformedMessage('a worker sends a message that only hubs send');
    const channel = type === hubTypes.relay ? channels.relay : channels.bus;
    const from = machine === NO_MACHINE ? EMITTER : workerName(sender, machine);
    this.listeners.get(`${channel}:${part}`)?.onMessage(from, body, type);
  }

  private handleOfHub(part: number, type: number, body: Buffer, machine: string): void {
    switch (type) {
      case hubTypes.here:
        for (const number of numbersOf(body)) this.onHere(workerName(number, machine));
        return;
      case hubTypes.gone:
        for (const number of numbersOf(body)) this.onGone(workerName(number, machine));
        return;
      case hubTypes.status:
        return this.health.update(statusOf(body));
      default:
        this.listeners.get(`${channels.bus}:${part}`)?.onMessage(HUB, body, type);
    }
  }

  private onHere(worker: string): void {
    if (this.elsewhere.has(worker)) return;
    this.elsewhere.add(worker);
    this.each('onHere', worker);
  }

  private onGone(worker: string): void {
    if (this.elsewhere.delete(worker)) this.each('onGone', worker);
  }

  private each(event: 'onHere' | 'onGone', name: string): void {
    for (const listener of [...this.listeners.values()]) attempt('hearing who is there', () => listener[event]?.(name));
  }
}

const numberOf = (worker: string): number => Number.parseInt(worker, 10);

const machineOf = (worker: string): string => worker.slice(worker.indexOf('.') + 1);

/** @throws MalformedMessage */
function statusOf(body: Buffer): HubStatus {
  try {
    return JSON.parse(body.toString()) as HubStatus;
  } catch {
    throw new MalformedMessage('the state of the hub is no JSON');
  }
}
