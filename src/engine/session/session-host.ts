import type { DeadlineQueue, Waiting } from '../deadlines.js';
import type { IncompletePackets } from '../incoming/incomplete-packets.js';
import type { MessageLimits } from '../limits/rates.js';
import type { RoundTrips } from '../round-trips.js';
import type { TopKeys } from '../top-keys.js';
import type { Transport } from '../transports/transport.js';
import type { SenderHost } from './packet-sender.js';

/**
 * The parts of the engine that a session uses.
 * @template S the class of the session, which imports this file
 */
export interface SessionHost<S extends Waiting<S>> extends SenderHost {
  readonly settings: {
    readonly pingInterval: number;
    readonly pingTimeout: number;
    readonly upgradeTimeout: number;
    readonly initialPacket: string | Buffer | undefined;
  };
  readonly messageLimits: MessageLimits | undefined;
  readonly incompletePackets: IncompletePackets;
  /** Sessions that wait for their next ping. */
  readonly pingQueue: DeadlineQueue<S>;
  /** Sessions whose client must answer a ping. */
  readonly silenceQueue: DeadlineQueue<S>;
  /** Sessions of revision 3, whose client must send a ping. */
  readonly silenceQueueV3: DeadlineQueue<S>;
  /** The session that has received a message last. */
  sender: unknown;
  /** The addresses that send the most messages. */
  readonly talkers: TopKeys;
  readonly roundTrips: RoundTrips;
  /** The JSON that follows the session's id in the `open` packet. */
  openingFor(transport: Transport): string;
  onSessionClosed(session: S): void;
  onSessionUpgraded(session: S): void;
}
