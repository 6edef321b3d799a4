import { type FrameLinks, type FrameListener, Route } from '../links.js';
import type { MeshFrameLinks } from '../mesh-frame-links.js';
import { isOfInterest, types } from '../wire/message.js';
import { headOf, hubHead, workerHead } from './entries.js';
import type { HubClient } from './hub-client.js';

/** The name of the peer that stands for all workers of other machines. */
export const HUB = 'hub';

/** Frames to the workers of this machine over its mesh, and to those of other machines through its hub. */
export class HubFrameLinks implements FrameLinks {
  readonly id: string;
  readonly hub = HUB;

  constructor(
    private readonly mesh: MeshFrameLinks,
    private readonly client: HubClient,
    private readonly part: number,
  ) {
    this.id = mesh.id;
  }

  workers(): Iterable<string> {
    return [...this.mesh.workers(), HUB];
  }

  routeTo(worker: string): Route {
    if (worker === HUB) return new HubRoute(this.client, this.part);
    return this.isElsewhere(worker) ? new WorkerRoute(this.client, this.part, worker) : this.mesh.routeTo(worker);
  }

  isElsewhere(worker: string): boolean {
    return !worker.endsWith(`.${this.client.machine}`);
  }

  listen(listener: FrameListener): void {
    this.mesh.listen(listener);
    this.client.listen(this.part, {
      onMessage: (from, type, body) => listener.onMessage(from ?? HUB, type, body),
      onMalformed: listener.onMalformed,
      onHub: () => listener.onJoin(HUB),
      onHere: (worker) => listener.onHere?.(worker),
      onGone: (worker) => listener.onAway?.(worker),
    });
  }

  get isUp(): boolean {
    return this.client.health.isUp;
  }

  lose(messages: number): void {
    this.client.health.lose(messages);
  }
}

/** Entries for the hub and for all workers behind it. */
class HubRoute extends Route {
  private pieces: Buffer[] = [];
  private messages = 0;

  constructor(
    private readonly client: HubClient,
    private readonly part: number,
  ) {
    super();
  }

  add(message: Buffer, keys?: readonly number[]): void {
    const { client, part } = this;
    const type = message[4]!;
    const head = isOfInterest(type) ? hubHead(part, client.worker) : headOf(part, client.worker, keys);
    this.pieces.push(head, message);
    if (type <= types.cluster) this.messages++;
  }

  protected write(): void {
    const { pieces, messages } = this;
    this.pieces = [];
    this.messages = 0;
    this.client.send(Buffer.concat(pieces), messages);
  }
}

/** Entries for one worker of another machine. */
class WorkerRoute extends Route {
  private pieces: Buffer[] = [];
  private readonly head: Buffer;

  constructor(
    private readonly client: HubClient,
    part: number,
    to: string,
  ) {
    super();
    this.head = workerHead(part, client.worker, Number.parseInt(to, 10), to.slice(to.indexOf('.') + 1));
  }

  add(message: Buffer): void {
    this.pieces.push(this.head, message);
  }

  protected write(): void {
    const { pieces } = this;
    this.pieces = [];
    this.client.send(Buffer.concat(pieces), pieces.length / 2);
  }
}
