import { setImmediate } from '../../../../base/clock.js';
import { MalformedMessage } from '../../../../base/errors.js';
import { attempt } from '../../../../base/owner.js';
import type { HubLink, HubLinkListener } from '../../../../base/worker-links.js';
import { workerName } from '../../../../base/worker-name.js';
import type { HubStatus } from '../../../hub/hub-status.js';
import { EMITTER, isOfInterest, messageOf, numbersOf, types } from '../wire/message.js';
import { EntryReader, entryKinds, hubTypes, MACHINE, NO_MACHINE, serviceEntry, workerHead } from './entries.js';
import { HubHealth } from './hub-health.js';

/** What a Socket.IO server of this worker hears from the hub. */
export interface PartListener {
  /** A message of a worker, an emitter, or, with undefined, of the hub itself. */
  onMessage(from: string | undefined, type: number, body: Buffer): void;
  onMalformed(error: unknown): void;
  /** The hub is there, for the first time or again. */
  onHub(): void;
  /** A worker of another machine is there. */
  onHere(worker: string): void;
  onGone(worker: string): void;
}

/** What the relay of an engine of this worker hears from the hub. */
export interface RelayPartListener {
  onMessage(from: string, payload: Buffer): void;
  onLeave(worker: string): void;
}

/** This worker's end of the link to the hub of its machine. */
export class HubClient {
  readonly health = new HubHealth();
  /** The workers of other machines. */
  readonly workers = new Set<string>();
  private readonly parts = new Map<number, PartListener>();
  private readonly relays = new Map<number, RelayPartListener>();
  private readonly services = new Map<number, HubLinkListener>();
  private isThere = false;

  constructor(
    readonly worker: number,
    readonly machine: string,
    private readonly link: HubLink,
  ) {
    link.listen({
      onHere: () => this.onHere(),
      onMessage: (message) => this.receive(message),
      onGone: () => this.onHubGone(),
    });
  }

  listen(part: number, listener: PartListener): void {
    this.parts.set(part, listener);
    if (this.isThere) listener.onHub();
    for (const worker of this.workers) listener.onHere(worker);
  }

  /** @param messages how many messages of applications the entries carry */
  send(entries: Buffer, messages: number): void {
    if (!this.link.send(entries)) this.health.lose(messages);
  }

  /** Listens to what the relays of other machines send to an engine of this worker. */
  listenToRelay(part: number, listener: RelayPartListener): void {
    this.relays.set(part, listener);
  }

  /** Sends to the relay of a worker of another machine. It counts as gone if it cannot be reached. */
  relay(part: number, to: string, payload: Uint8Array): void {
    const [number, machine] = [Number.parseInt(to, 10), to.slice(to.indexOf('.') + 1)];
    const head = workerHead(part, this.worker, number, machine);
    const isSent = this.workers.has(to) && this.link.send(Buffer.concat([head, messageOf(hubTypes.relay, payload)]));
    if (!isSent) setImmediate(() => this.relays.get(part)?.onLeave(to));
  }

  /** The link of this worker to a service of the hub. */
  service(service: number): HubLink {
    return {
      send: (message) => this.link.send(serviceEntry(service, message, this.worker)),
      listen: (listener) => {
        this.services.set(service, listener);
        if (this.isThere) listener.onHere();
      },
    };
  }

  private onHere(): void {
    this.isThere = true;
    for (const part of this.parts.values()) part.onHub();
    for (const service of this.services.values()) attempt('linking with the hub', () => service.onHere());
  }

  private onHubGone(): void {
    this.isThere = false;
    for (const service of this.services.values()) attempt('handling the end of the hub', () => service.onGone());
    for (const worker of [...this.workers]) this.onGone(worker);
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
    for (const part of this.parts.values()) return part.onMalformed(error);
  }

  private handle(reader: EntryReader, machine: string): void {
    const { kind, part, sender, type } = reader;
    if (kind === entryKinds.hub) return this.handleOfHub(reader, machine);
    if (kind === entryKinds.service) return this.services.get(part)?.onMessage(reader.body);
    const from = machine === NO_MACHINE ? EMITTER : workerName(sender, machine);
    if (type === hubTypes.relay) return this.relays.get(part)?.onMessage(from, reader.body);
    if (isOfInterest(type) || type > types.cluster)
      throw new MalformedMessage('a worker sends a message that only hubs send');
    this.parts.get(part)?.onMessage(from, type, reader.body);
  }

  private handleOfHub({ type, part, body }: EntryReader, machine: string): void {
    switch (type) {
      case hubTypes.here:
        for (const number of numbersOf(body)) this.onWorker(workerName(number, machine));
        return;
      case hubTypes.gone:
        for (const number of numbersOf(body)) this.onGone(workerName(number, machine));
        return;
      case hubTypes.status:
        return this.health.update(statusOf(body));
      default:
        this.parts.get(part)?.onMessage(undefined, type, body);
    }
  }

  private onWorker(worker: string): void {
    if (this.workers.has(worker)) return;
    this.workers.add(worker);
    for (const part of this.parts.values()) part.onHere(worker);
  }

  private onGone(worker: string): void {
    if (!this.workers.delete(worker)) return;
    const leave = 'handling the end of a worker of another machine';
    for (const part of this.parts.values()) attempt(leave, () => part.onGone(worker));
    for (const relay of this.relays.values()) attempt(leave, () => relay.onLeave(worker));
  }
}

function statusOf(body: Buffer): HubStatus {
  try {
    return JSON.parse(body.toString()) as HubStatus;
  } catch {
    throw new MalformedMessage('the state of the hub is no JSON');
  }
}
