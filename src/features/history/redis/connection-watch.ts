import { Cluster, type Redis } from 'ioredis';
import { own } from '../../../base/owner.js';
import { brokerReasonOf } from '../../../cluster/backplanes/broker-cause.js';
import type { StoreEvents } from '../store.js';

/** How long a connection may be down before that is told, in ms. One that breaks returns at once, unless Redis is down. */
const GRACE_MS = 2000;
/** How often Redis is asked again while its settings put messages at risk, in ms. */
const RECHECK_MS = 10_000;

/** Tells the listeners of a store what happens to its connection, and whether the settings of Redis keep messages. */
export class ConnectionWatch {
  /** Why there is no connection. */
  reason = new Error('no answer');
  private grace: NodeJS.Timeout | undefined;
  private recheck: NodeJS.Timeout | undefined;
  private risk: string | undefined;
  private readonly handlers: [event: string, handler: (error: Error) => void][];

  /** @param listeners told of the connection; a new one once with {@link tell} */
  constructor(
    private readonly client: Redis | Cluster,
    private readonly listeners: ReadonlySet<StoreEvents>,
  ) {
    this.handlers = [
      ['error', (error) => this.onError(error)],
      ['close', () => this.onClose()],
      ['ready', () => this.onReady()],
    ];
    for (const [event, handler] of this.handlers) client.on(event, handler);
    if (client.status === 'ready') this.assessNow();
    else this.awaitReturn();
  }

  tell(events: StoreEvents): void {
    if (this.client.status === 'ready') events.onReady?.();
    if (this.risk) events.onRisk?.(this.risk);
  }

  close(): void {
    clearTimeout(this.grace);
    clearTimeout(this.recheck);
    for (const [event, handler] of this.handlers) this.client.off(event, handler);
    // A client without a listener for errors writes them to the console.
    this.client.on('error', () => {});
  }

  private onError(error: Error): void {
    this.reason = new Error(brokerReasonOf(error), { cause: error });
  }

  private onClose(): void {
    if (!this.grace) this.reason = new Error('the connection was closed');
    this.awaitReturn();
  }

  private awaitReturn(): void {
    this.grace ??= setTimeout(() => {
      for (const { onDown } of this.listeners) onDown?.(this.reason);
    }, GRACE_MS).unref();
  }

  private onReady(): void {
    clearTimeout(this.grace);
    this.grace = undefined;
    for (const { onReady } of this.listeners) onReady?.();
    this.assessNow();
  }

  private assessNow(): void {
    own('asking Redis for its policy of eviction', this.assess());
  }

  /** Asks whether Redis may remove messages that it has confirmed. A Redis that does not say it is taken as one that may not. */
  private async assess(): Promise<void> {
    clearTimeout(this.recheck);
    const nodes = this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
    const risks = await Promise.all(nodes.map((node) => riskOf(node).catch(() => undefined)));
    const risk = risks.find((one) => one !== undefined);
    if (risk !== undefined) this.recheck = setTimeout(() => this.assessNow(), RECHECK_MS).unref();
    if (risk === this.risk) return;
    this.risk = risk;
    for (const { onRisk } of this.listeners) onRisk?.(risk);
  }
}

async function riskOf(node: Redis): Promise<string | undefined> {
  const info = await node.info('memory');
  const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const policy = value('maxmemory_policy');
  if (policy === undefined || policy === 'noeviction' || Number(value('maxmemory')) === 0) return undefined;
  return `Redis removes messages when its memory is full (maxmemory-policy ${policy})`;
}
