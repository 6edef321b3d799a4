import type { BackplaneEvents } from '../backplanes/backplane.js';
import { Inbox } from '../backplanes/connection-health.js';
import { hubHead, hubTypes } from '../backplanes/frames/hub/entries.js';
import type { HubStatus } from '../backplanes/frames/hub/hub-health.js';
import { messageOf } from '../backplanes/frames/wire/message.js';
import type { PubSub } from '../backplanes/pub-sub.js';

interface StatusHost {
  /** The workers of this machine. */
  workers(): Iterable<number>;
  tell(worker: number, entry: Buffer): void;
  /** The server is up, and the workers do not know it yet. */
  beforeUp(): void;
}

/** What a hub knows of its server, and tells its workers when it changes. */
export class StatusBoard implements BackplaneEvents {
  private status: Omit<HubStatus, 'leads' | keyof StatusBoard['counts']>;
  private told = '';
  private pubSub: PubSub | undefined;
  private readonly ownInbox = new Inbox();
  private host: StatusHost | undefined;

  /** @param isUp whether the hub needs no server to be of use, because its machine is alone */
  constructor(isUp = false) {
    this.status = { isUp, told: 0 };
  }

  /** Begins to tell. Before, it only notes what happens. */
  start(host: StatusHost, pubSub: PubSub | undefined): void {
    this.host = host;
    this.pubSub = pubSub;
  }

  get isUp(): boolean {
    return this.status.isUp;
  }

  /** Where malformed messages are counted. */
  get inbox(): Inbox {
    return this.pubSub?.health.inbox ?? this.ownInbox;
  }

  onDown(reason: string, rejected?: string): void {
    this.set({ isUp: false, down: { reason, rejected }, told: this.status.told + 1 });
  }

  onUp(): void {
    this.host?.beforeUp();
    this.set({ isUp: true, down: undefined });
  }

  onGap(machine: string, reason: string): void {
    this.status = { ...this.status, lastGap: [machine, reason] };
  }

  /** A hub that cannot report it itself has dropped a message. */
  onMalformed(reason: string): void {
    this.status = { ...this.status, lastMalformed: reason };
  }

  /** Tells all workers, if something has changed, or if it is `due`. */
  tell(isDue = false): void {
    const { host } = this;
    if (!host) return;
    const status = { ...this.status, ...this.counts };
    const text = JSON.stringify(status);
    if (text === this.told && !isDue) return;
    this.told = text;
    const workers = [...host.workers()];
    const leader = Math.min(...workers);
    for (const worker of workers) {
      const own = JSON.stringify({ ...status, leads: worker === leader } satisfies HubStatus);
      host.tell(worker, Buffer.concat([hubHead(0, 0), messageOf(hubTypes.status, Buffer.from(own))]));
    }
  }

  private set(change: Partial<StatusBoard['status']>): void {
    this.status = { ...this.status, ...change };
    this.tell();
  }

  private get counts(): Pick<HubStatus, 'unsent' | 'pendingBytes' | 'malformed' | 'gaps'> {
    const { unsent = 0, pendingBytes = 0, gaps = 0 } = this.pubSub?.health ?? {};
    return { unsent, pendingBytes, gaps, malformed: this.inbox.malformed };
  }
}
