import type { PacketMemory } from './kept/stream.js';
import type { RecoveryMessage } from './messages.js';
import type { RecoveryCounts } from './outcomes.js';

/** The parts of a worker that the recovery of its namespaces shares. */
export interface RecoveryHost {
  /** Names this worker in offsets. */
  readonly name: string;
  readonly memory: PacketMemory;
  readonly bounds: { readonly maxBytes: number; readonly maxSessions: number };
  readonly spansMachines: boolean;
  /** How the attempts of clients to recover have ended. */
  readonly outcomes: RecoveryCounts;
  /** Resolves when this worker receives what the others send to its namespaces. */
  subscribed(): Promise<void>;
  /** The ids of the other workers of this machine. */
  readonly members: readonly number[];
  /** The size of the last message that arrived, in bytes. */
  readonly bytesOfLast: number;
  /**
   * The worker that keeps copies of the sessions of this one.
   * @param leaving workers that soon keep nothing any more
   */
  buddy(leaving: ReadonlySet<number>): number | undefined;
  /** The name of a worker of this machine, as far as its id tells it. */
  nameOf(id: number): string | undefined;
  send(to: number, message: RecoveryMessage): void;
  /** What was sent to this machine's workers arrives, even if this one is killed next. */
  flush(): void;
  /** Sends to all other workers, those of other machines included. Returns the size of the message. */
  tellAll(message: RecoveryMessage): number;
}
