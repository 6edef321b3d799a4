import { MalformedMessage } from '../base/errors.js';
import type { HubLink } from '../base/hub-service.js';
import { attempt, reportFailure } from '../base/owner.js';
import { thisProcess } from '../base/process.js';
import { workerName } from '../base/worker-name.js';
import type { BusHealth } from './backplanes/bus-health.js';
import { ConnectionHealth, type Inbox, malformed } from './backplanes/connection-health.js';
import { HubHealth } from './hub/hub-health.js';
import { HUB as HUB_NUMBER, type MeshLinks } from './mesh/mesh.js';
import {
  type Addressee,
  addressees,
  type Envelope,
  type Head,
  MACHINE,
  NOWHERE,
  numbersOf,
  pack,
  type Sender,
  senderOf,
  typeOf,
} from './wire/envelope.js';
import { isOfApplication, isRelayed, types } from './wire/types.js';

/** The name of the hub of the machine. For rooms, it stands for all workers of other machines. */
export const HUB = 'hub';

/** The name of every sender that is no worker. */
export const EMITTER = 'emitter';

/** The users of a node. Each has listeners of its own, by the number of the Socket.IO server, the engine or the service. */
export const channels = { bus: 0, relay: 1, service: 2 } as const;
type Channel = (typeof channels)[keyof typeof channels];

/** What a listener hears of other workers, by their names, and of the {@link HUB}. */
export interface NodeListener {
  /** May keep the body, and throw a MalformedMessage. */
  onMessage(from: string, body: Buffer, type: number): void;
  /** A worker of another machine, or the hub, is there, for the first time or again. It may be told already. */
  onHere?(name: string): void;
  /** After the last message of a worker, or after the end of the hub. */
  onGone?(name: string): void;
}

/**
 * A worker among all others that it can reach: those of its machine over the mesh, and those of other machines through the hub. All
 * that workers say to each other passes here, in envelopes. Those of one to another arrive in order and once each, or the other is gone.
 */
export class Node {
  /** The name of this worker, unique among all workers that can reach each other. */
  readonly id: string;
  readonly health: HubHealth;
  /** That of the way to other workers: among those of one machine, nothing is ever down. */
  readonly busHealth: BusHealth & { readonly inbox: Inbox };
  /** The workers of other machines. */
  readonly elsewhere = new Set<string>();
  private readonly sender: Sender;
  private readonly listeners = new Map<number, NodeListener>();
  private isHubThere = false;

  /**
   * @param machine the id of this machine
   * @param isAlone whether there are no other machines, now and later
   */
  constructor(
    private readonly mesh: MeshLinks,
    readonly machine: string,
    readonly isAlone: boolean,
  ) {
    this.id = this.nameOf(mesh.id);
    this.sender = senderOf(mesh.id, machine);
    this.health = new HubHealth(() => mesh.members.every((worker) => worker > mesh.id));
    this.busHealth = isAlone ? ConnectionHealth.ofNone() : this.health;
    mesh.on({
      onJoin: (id) => id === HUB_NUMBER && this.hubHere(),
      onMessage: (from, envelope) => {
        if (from === HUB_NUMBER) this.ofHub(envelope);
        else this.receive(this.nameOf(from), envelope);
      },
      onLeave: (id) => (id === HUB_NUMBER ? this.hubGone() : this.each('onGone', this.nameOf(id))),
    });
    if (mesh.has(HUB_NUMBER)) this.hubHere();
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
    this.listeners.set(keyOf(channel, part), listener);
    if (this.isHubThere) listener.onHere?.(HUB);
    for (const worker of this.elsewhere) listener.onHere?.(worker);
  }

  /** What the envelopes of this worker begin with. */
  head(type: number, part: number, to?: Addressee): Head {
    return { type, part, from: this.sender, to };
  }

  /** Sends to one worker, or to the {@link HUB}, by the end of this turn. Returns false if it is not there. */
  send(to: string, type: number, part: number, ...body: readonly (string | Uint8Array)[]): boolean {
    const isElsewhere = to !== HUB && this.isElsewhere(to);
    if (isElsewhere && !this.elsewhere.has(to)) return false;
    const addressee = isElsewhere ? { worker: numberOf(to), machine: to.slice(-MACHINE) } : undefined;
    return this.mesh.send(this.hopTo(to), pack(this.head(type, part, addressee), ...body));
  }

  /** The way to a worker of this machine, or to the {@link HUB}, for envelopes that are ready. What cannot be sent is dropped and counted. */
  wayTo(to: string): (envelope: Buffer) => void {
    const number = this.hopTo(to);
    return (envelope) => {
      if (!this.mesh.send(number, envelope) && number === HUB_NUMBER && isOfApplication(typeOf(envelope)))
        this.health.lose(1);
    };
  }

  /** Hands to the system what was sent. It arrives before what clients of this worker are given from now on. */
  flush(): void {
    this.mesh.flush();
  }

  /** The link of this worker to a service of the hub. */
  service(service: number): HubLink {
    return {
      send: (message) => {
        const isSent = this.send(HUB, types.service, service, message);
        this.flush();
        return isSent;
      },
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

  /** The number in the mesh of who passes on what is for a worker. */
  private hopTo(worker: string): number {
    return worker === HUB || this.isElsewhere(worker) ? HUB_NUMBER : numberOf(worker);
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

  /** One malformed message must not take those after it along. */
  private receive(from: string, envelope: Envelope): void {
    const { type, part } = envelope;
    const isForRelay = isRelayed(type);
    try {
      const channel = type === types.service ? channels.service : isForRelay ? channels.relay : channels.bus;
      this.listeners.get(keyOf(channel, part))?.onMessage(from, envelope.body, type);
    } catch (error) {
      if (!isForRelay) this.busHealth.inbox.drop(malformed(error));
      else if (error instanceof MalformedMessage) thisProcess.reports.malformed('relay', error.message);
      else reportFailure('handling a message of another worker', error);
    }
  }

  private ofHub(envelope: Envelope): void {
    const { addressee, type, sender, machine } = envelope;
    // A hub has the number 0.
    if (addressee !== addressees.peer || sender !== HUB_NUMBER) {
      if (isOfApplication(type) || isRelayed(type))
        return this.receive(machine === NOWHERE ? EMITTER : workerName(sender, machine), envelope);
      return this.busHealth.inbox.drop(new MalformedMessage('a worker sends what only hubs send'));
    }
    try {
      if (type === types.status) this.health.update(envelope.body);
      else if (type === types.here)
        for (const number of numbersOf(envelope.body)) this.onHere(workerName(number, machine));
      else if (type === types.gone)
        for (const number of numbersOf(envelope.body)) this.onGone(workerName(number, machine));
      else this.receive(HUB, envelope);
    } catch (error) {
      this.busHealth.inbox.drop(malformed(error));
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

const keyOf = (channel: Channel, part: number): number => 256 * channel + part;

const numberOf = (worker: string): number => Number.parseInt(worker, 10);
