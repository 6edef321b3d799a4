import type { Socket as Client } from 'socket.io-client';
import type { StateMeta } from '../../../../src/features/state/index.js';

export type Changes = [key: string, value?: unknown][];

/** What a client shows: the newest values that it was sent. */
export class View {
  readonly map = new Map<string, unknown>();
  readonly messages: [Changes, StateMeta][] = [];
  /** The version to continue from. */
  version = '';
  /** Whether more is about to come. */
  isComplete = false;
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly client: Client,
    event: string,
  ) {
    client.on(event, (changes: Changes, meta: StateMeta) => this.receive(changes, meta));
  }

  get state(): Record<string, unknown> {
    return Object.fromEntries([...this.map].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** Resolves as soon as the client shows this. */
  shows(fits: (state: Record<string, unknown>) => boolean): Promise<void> {
    return this.until(() => this.isComplete && fits(this.state));
  }

  until(fits: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!fits()) return;
        this.waiting.delete(check);
        resolve();
      };
      this.waiting.add(check);
      check();
    });
  }

  private receive(changes: Changes, meta: StateMeta): void {
    this.messages.push([changes, meta]);
    if (meta.snapshot) {
      this.map.clear();
      this.version = '';
    }
    for (const change of changes) {
      const [key, value] = change;
      if (change.length === 1) this.map.delete(key);
      else this.map.set(key, value);
    }
    if (meta.version) this.version = meta.version;
    this.isComplete = !meta.more;
    for (const check of [...this.waiting]) check();
  }

  disconnect(): void {
    this.client.disconnect();
  }
}
