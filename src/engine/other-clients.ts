import type { Buffering } from './delivery/buffer-budget.js';

/** Why clients are disconnected: `restart` if another worker or machine accepts them, `stop` if the server ends. */
export type DrainReason = 'restart' | 'stop';

/**
 * Clients of an application besides the sessions of an engine, such as plain WebSockets or streams of events. What waits
 * for them counts for `maxBuffered`, and on a worker a drain dismisses them too:
 *
 * ```
 * io.engine.otherClients.add({ all, isQuiet: () => true, dismiss: (stream) => stream.end() });
 * ```
 */
export interface OtherClients<Client extends Buffering = Buffering> {
  /** Those that are open. */
  readonly all: ReadonlySet<Client>;
  /** Whether dismissing the client now interrupts nothing. At the end of the time, it is dismissed all the same. */
  isQuiet(client: Client): boolean;
  /** Asks the client to connect elsewhere. It stays among {@link all} until it is gone. */
  dismiss(client: Client, reason: DrainReason): void;
}
