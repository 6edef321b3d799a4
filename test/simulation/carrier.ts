import { own } from '../../src/base/owner.js';
import { ConnectionHealth } from '../../src/cluster/backplanes/connection-health.js';
import type { PubSub, PubSubListener } from '../../src/cluster/backplanes/pub-sub.js';
import { Line } from './network.js';
import { Process, RIGHT, type Scheduler } from './scheduler.js';

/** The server between machines, such as Redis. It keeps the order of each connection, and nothing beyond an outage. */
export class Carrier {
  readonly process = new Process('carrier', RIGHT);
  readonly connections = new Set<Connection>();
  private downUntil = 0;

  constructor(readonly scheduler: Scheduler) {}

  get isUp(): boolean {
    return this.scheduler.now >= this.downUntil;
  }

  /** @param process that of the hub */
  connect(process: Process): PubSub {
    return new Connection(this, process);
  }

  /** All connections break. It is there again after so many ms. */
  fail(ms: number): void {
    this.downUntil = Math.max(this.downUntil, this.scheduler.now + ms);
    for (const connection of this.connections) connection.lose();
  }
}

/** How often a connection is tried again, in ms. */
const RETRY_MS = 50;

/** The two connections of a hub, which break together. */
class Connection implements PubSub {
  readonly health = new ConnectionHealth('Redis');
  readonly channels = new Set<string>();
  /** The present connection; undefined while there is none. */
  private current: { readonly toCarrier: Line; readonly toHub: Line } | undefined;
  private listener: PubSubListener | undefined;
  private pending = new Set<(error: Error) => void>();
  private isClosed = false;

  constructor(
    private readonly carrier: Carrier,
    private readonly process: Process,
  ) {
    carrier.connections.add(this);
    process.onEnd.push(() => this.close());
    this.open();
  }

  private get name(): string {
    return this.process.name;
  }

  private open(): void {
    if (this.isClosed) return;
    const { carrier } = this;
    const { scheduler, process } = carrier;
    const again = () => void scheduler.add(scheduler.now + RETRY_MS, this.process, () => this.open());
    const current = {
      toCarrier: new Line(scheduler, `${this.name} carrier`, process),
      toHub: new Line(scheduler, `carrier ${this.name}`, this.process),
    };
    // Its subscriptions are confirmed.
    current.toCarrier.send(() => {
      if (!carrier.isUp) return again();
      this.current = current;
      current.toHub.send(() => this.renewed(current));
    });
  }

  private renewed(current: object): void {
    if (this.current !== current) return;
    const up = this.listener?.onRenewed().then(() => {
      if (this.current === current) this.health.update(true);
    });
    own('finding the servers behind Redis', Promise.resolve(up));
  }

  /** The connection breaks: what is on its way is lost. */
  lose(): void {
    if (!this.current) return;
    const { scheduler } = this.carrier;
    this.current = undefined;
    scheduler.add(scheduler.now, this.process, () => {
      this.health.reason = 'the connection was closed';
      this.health.update(false);
      for (const reject of this.pending) reject(new Error('the connection was closed'));
      this.pending.clear();
      this.open();
    });
  }

  publish(channel: string, bytes: Buffer, messages: number): Promise<number | undefined> {
    const copy = Buffer.from(bytes);
    const send = () =>
      new Promise<number>((resolve, reject) => {
        const { current } = this;
        if (!current) return reject(new Error('there is no connection'));
        this.pending.add(reject);
        current.toCarrier.send(() => {
          if (this.current !== current) return;
          const count = this.publishNow(channel, copy);
          current.toHub.send(() => {
            if (this.pending.delete(reject)) resolve(count);
          });
        });
      });
    return this.health.send(bytes.length, send, ['PUBLISH', channel], messages).then(
      (count) => count,
      () => undefined,
    );
  }

  private publishNow(channel: string, bytes: Buffer): number {
    const receivers = [...this.carrier.connections].filter((one) => one.current && one.channels.has(channel));
    for (const receiver of receivers) {
      const { current } = receiver;
      current!.toHub.send(() => {
        if (receiver.current === current) receiver.listener?.onMessage(channel, bytes);
      });
    }
    return receivers.length;
  }

  async subscribe(channel: string): Promise<boolean> {
    this.channels.add(channel);
    return true;
  }

  listen(listener: PubSubListener): void {
    this.listener = listener;
  }

  close(): void {
    this.isClosed = true;
    this.current = undefined;
    this.carrier.connections.delete(this);
  }
}
