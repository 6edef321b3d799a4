import type { Naming } from './kept/removals.js';
import type { SessionMemory } from './kept/session-memory.js';
import type { KeptSession } from './kept/sessions.js';
import type { PacketMemory } from './kept/stream.js';
import type { LoanQuestion, RecoveryMessage } from './messages.js';
import type { RecoveryOutcome } from './outcomes.js';
import type { Gate } from './returns/gate.js';

export interface RecoveryBounds {
  /** How many bytes of packets, and of disconnected sessions, a worker keeps. The oldest are dropped first. */
  readonly maxBytes: number;
  /** How many disconnected sessions a worker keeps for each namespace. The oldest are dropped first. */
  readonly maxSessions: number;
  /** The rooms of a session that can be recovered. */
  readonly maxRooms: number;
  /** The packets that a client may have missed, and their bytes. */
  readonly maxMissed: number;
  readonly maxMissedBytes: number;
  /** The packets that all clients together may be sent in ten seconds because they had missed them, and their bytes. */
  readonly maxReplayed: number;
  readonly maxReplayedBytes: number;
  /** The recoveries in progress on a worker. */
  readonly maxRecovering: number;
}

/** The parts of a worker that the recovery of its namespaces shares. */
export interface RecoveryHost {
  /** Names this worker in offsets. */
  readonly name: string;
  readonly memory: PacketMemory;
  readonly sessionMemory: SessionMemory<KeptSession>;
  readonly bounds: RecoveryBounds;
  readonly gate: Gate;
  readonly spansMachines: boolean;
  /** How late a message of another machine may arrive, and by how far the clocks of two may differ, together, in ms. */
  readonly slackMs: number;
  /** How the operator names clients. */
  readonly naming: Naming;
  /** Counts how an attempt of a client to recover has ended. */
  count(outcome: RecoveryOutcome): void;
  /** Resolves when this worker receives what the others send to its namespaces. */
  subscribed(): Promise<void>;
  /** Resolves with true when what other machines sent before the call has arrived; with false if that takes too long. */
  caughtUp(): Promise<boolean>;
  /** The id of this worker on its machine. */
  readonly id: number;
  /** The ids of the other workers of this machine. */
  readonly members: readonly number[];
  /** The name of a worker of this machine, as far as its id tells it. */
  nameOf(id: number): string | undefined;
  send(to: number, message: RecoveryMessage): void;
  /** What was sent to this machine's workers arrives, even if this one is killed next. */
  flush(): void;
  /**
   * Asks all other workers, those of other machines included. Does not reject.
   * @returns their answers, and whether each has answered in time
   */
  askAll(nsp: string, question: LoanQuestion): Promise<{ answers: readonly unknown[]; isComplete: boolean }>;
  /** Sends to all other workers, those of other machines included. */
  tellAll(message: RecoveryMessage): void;
}
