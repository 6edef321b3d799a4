import type { Expiries } from '../kept/expiries.js';
import type { PacketLog } from '../kept/packet-log.js';
import type { Removals } from '../kept/removals.js';
import type { Sessions } from '../kept/sessions.js';
import type { KeptPacket, Stream } from '../kept/stream.js';
import type { LiveSessions } from '../live-sessions.js';
import type { LiveState } from '../messages.js';
import type { ForeignMessages } from '../returns/foreign.js';

/** The parts of a namespace that messages of other workers change. */
export interface Owner {
  readonly nsp: { readonly name: string };
  readonly log: PacketLog;
  /** How long packets are kept, in ms. */
  readonly retentionMs: number;
  readonly sessions: Sessions;
  readonly expiries: Pick<Expiries, 'forget' | 'endWhere' | 'failed'>;
  readonly removals: Pick<Removals, 'covers'>;
  readonly live: LiveSessions;
  readonly foreign: ForeignMessages;
  /** Delivers a broadcast that this worker should have received, but only another one has. */
  deliver(sender: string, packet: KeptPacket): void;
  /** Keeps the session of a worker, which is disconnected, and tells the other workers. */
  keepSession(state: LiveState, worker: string, direct: Stream): void;
}
