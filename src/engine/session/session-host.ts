import type { EngineCounters } from '../counters.js';
import type { DeadlineQueue } from '../deadlines.js';
import type { SlowClients } from '../delivery/slow-clients.js';
import type { MessageLimits } from '../limits/message-limits.js';
import type { Transport } from '../transports/transport.js';
import type { Session } from './session.js';

/** What a session needs of its engine. */
export interface SessionHost {
  readonly settings: {
    readonly pingInterval: number;
    readonly pingTimeout: number;
    readonly upgradeTimeout: number;
    readonly initialPacket: string | Buffer | undefined;
  };
  readonly counters: EngineCounters;
  readonly slow: SlowClients;
  readonly messageLimits: MessageLimits | undefined;
  /** Sessions that are to be pinged next. */
  readonly pingQueue: DeadlineQueue<Session>;
  /** Sessions whose client has to answer a ping. */
  readonly silenceQueue: DeadlineQueue<Session>;
  /** Sessions of revision 3, whose client has to send a ping. */
  readonly silenceQueueV3: DeadlineQueue<Session>;
  /** What follows the session's id in the JSON of its `open` packet. */
  openingFor(transport: Transport): string;
  onSessionClosed(session: Session): void;
  onSessionUpgraded(session: Session): void;
  /** Whether somebody listens to `flush` or `drain` of all sessions. */
  readonly isWatchingPackets: boolean;
  emit(event: string, ...values: unknown[]): boolean;
}
