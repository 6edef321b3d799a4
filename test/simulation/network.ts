import { HUB, type Mesh, type MeshLinks, type MeshListener } from '../../src/cluster/mesh/mesh.js';
import { Envelope } from '../../src/cluster/wire/envelope.js';
import type { Random } from '../io/rooms/support/random.js';
import type { Process, Scheduler } from './scheduler.js';

/** One direction of a connection: what is sent arrives late, but in order, and all of it once it has left its process. */
export class Line {
  private last = 0;
  private readonly random;

  constructor(
    private readonly scheduler: Scheduler,
    readonly name: string,
    private readonly to: Process,
  ) {
    this.random = scheduler.random(`line ${name}`);
  }

  /** @param arrive runs in a turn of the process at its end */
  send(arrive: () => void): void {
    this.last = Math.max(this.last, this.scheduler.now + this.delay());
    this.scheduler.add(this.last, this.to, arrive);
  }

  private delay(): number {
    return delayOf(this.random);
  }
}

/** Mostly short, sometimes long, in ms. */
function delayOf(random: Random): number {
  const usual = 0.05 + 0.3 * random.next();
  if (random.chance(0.02)) return usual + 30 * random.next();
  return random.chance(0.1) ? usual + 4 * random.next() : usual;
}

/**
 * What a process reads from its sockets. When it gets to that, it reads all that was written, one socket after the other: what
 * comes on two of them may change its order within such a turn of the event loop, and no further.
 */
class Inbox {
  private readonly random: Random;
  private unread = new Map<object, (() => void)[]>();

  constructor(
    private readonly scheduler: Scheduler,
    private readonly process: Process,
  ) {
    this.random = scheduler.random(`inbox ${process.name}`);
  }

  add(socket: object, handle: () => void): void {
    const { scheduler, process, random, unread } = this;
    if (unread.size === 0) scheduler.add(scheduler.now + delayOf(random), process, () => this.read());
    const known = unread.get(socket);
    if (known) known.push(handle);
    else unread.set(socket, [handle]);
  }

  private read(): void {
    const { scheduler, process, random } = this;
    const sockets = [...this.unread.values()];
    this.unread = new Map();
    while (sockets.length > 0) {
      const [messages] = sockets.splice(random.below(sockets.length), 1);
      for (const handle of messages!) scheduler.add(scheduler.now, process, handle);
    }
  }
}

/** The links between the workers and the hub of one machine. */
export class MachineNetwork {
  readonly meshes = new Map<number, SimulatedMesh>();

  constructor(
    readonly scheduler: Scheduler,
    readonly machine: string,
  ) {}

  open(id: number, process: Process): SimulatedMesh {
    const mesh = new SimulatedMesh(this, id, process);
    this.meshes.set(id, mesh);
    return mesh;
  }
}

/** The socket on which one sends to another, which accepts the connection before it reads. */
class Link {
  private waiting: (() => void)[] | undefined = [];

  constructor(
    readonly peer: SimulatedMesh,
    private readonly inbox: Inbox,
  ) {
    inbox.add({}, () => this.flow());
  }

  private flow(): void {
    for (const handle of this.waiting!) this.inbox.add(this, handle);
    this.waiting = undefined;
  }

  /** Its buffers are full for a while: what is sent meanwhile arrives later than on other links. */
  hold(scheduler: Scheduler, ms: number): void {
    if (this.waiting) return;
    this.waiting = [];
    scheduler.add(scheduler.now + ms, this.peer.process, () => this.flow());
  }

  send(handle: () => void): void {
    if (this.waiting) this.waiting.push(handle);
    else this.inbox.add(this, handle);
  }
}

/** A {@link Mesh} whose connections the scheduler owns. */
export class SimulatedMesh implements MeshLinks {
  private readonly links = new Map<number, Link>();
  private readonly welcomed = new Map<number, () => void>();
  private readonly listeners: MeshListener[] = [];
  private readonly inbox: Inbox;

  constructor(
    private readonly network: MachineNetwork,
    readonly id: number,
    readonly process: Process,
  ) {
    this.inbox = new Inbox(network.scheduler, process);
    process.onEnd.push(() => this.end());
  }

  /** As for code that expects the class. */
  get asMesh(): Mesh {
    return this as unknown as Mesh;
  }

  get members(): number[] {
    return [...this.links.keys()].filter((id) => id !== HUB);
  }

  has(id: number): boolean {
    return this.links.has(id);
  }

  async join(others: readonly number[]): Promise<void> {
    await Promise.all(
      others.map((id) => {
        const peer = this.network.meshes.get(id);
        if (!peer?.process.isAlive) return undefined;
        const welcome = new Promise<void>((resolve) => this.welcomed.set(id, resolve));
        this.link(peer, true);
        return welcome;
      }),
    );
  }

  private link(peer: SimulatedMesh, isHello: boolean): void {
    const link = new Link(peer, peer.inbox);
    this.links.set(peer.id, link);
    link.send(() => peer.greeted(this, isHello));
  }

  private greeted(peer: SimulatedMesh, isHello: boolean): void {
    // Another process may have its number now.
    if (!peer.process.isAlive) return;
    if (isHello) this.link(peer, false);
    else this.welcome(peer.id);
    for (const { onJoin } of [...this.listeners]) onJoin?.(peer.id);
  }

  private welcome(id: number): void {
    this.welcomed.get(id)?.();
    this.welcomed.delete(id);
  }

  on(listener: MeshListener): void {
    this.listeners.push(listener);
  }

  send(to: number, envelope: Envelope | Buffer): boolean {
    const link = this.links.get(to);
    if (!link) return false;
    const copy = Buffer.from(envelope instanceof Envelope ? envelope.whole : envelope);
    link.send(() => link.peer.receive(this, copy));
    return true;
  }

  flush(): void {}

  /** What goes to some other worker is late. */
  holdOne(random: Random, ms: number): void {
    const links = [...this.links].filter(([id]) => id !== HUB);
    if (links.length > 0) random.pick(links)[1].hold(this.network.scheduler, ms);
  }

  private receive(from: SimulatedMesh, envelope: Buffer): void {
    // One that was replaced under the same number.
    if (this.links.get(from.id)?.peer !== from) return;
    for (const { onMessage } of this.listeners) onMessage?.(from.id, Envelope.of(envelope));
  }

  /** The process has ended. Others notice behind all that it has sent. */
  private end(): void {
    if (this.network.meshes.get(this.id) === this) this.network.meshes.delete(this.id);
    const tell = (peer: SimulatedMesh) => () => peer.gone(this);
    for (const peer of this.network.meshes.values()) {
      const link = this.links.get(peer.id);
      if (link?.peer === peer) link.send(tell(peer));
      // It waits for a welcome.
      else if (peer.links.get(this.id)?.peer === this) peer.inbox.add({}, tell(peer));
    }
    this.links.clear();
  }

  private gone(mesh: SimulatedMesh): void {
    const { id } = mesh;
    if (this.links.get(id)?.peer !== mesh) return;
    this.links.delete(id);
    this.welcome(id);
    for (const { onLeave } of [...this.listeners]) onLeave?.(id);
  }

  close(): void {
    this.end();
  }
}
