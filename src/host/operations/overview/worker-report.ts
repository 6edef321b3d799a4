import type { Figure } from '../../../base/figures.js';
import type { TopKey } from '../../../engine/top-keys.js';
import type { Health } from '../health.js';
import type { RecentEvent } from './recent-events.js';

/** What a worker answers the primary. All lists are bounded. */
export interface WorkerReport {
  readonly pid: number;
  /** When it answered, in ms on the worker's own clock, which started with the worker. */
  readonly at: number;
  readonly health: Health;
  readonly figures: readonly Figure[];
  /** How long clients took to answer a ping, in ms. */
  readonly roundTrips: readonly number[];
  /** For the operator's page alone. */
  readonly lists?: WorkerLists | undefined;
}

export interface WorkerLists {
  readonly roomCount: number;
  /** The largest rooms, and those with the most broadcasts. */
  readonly rooms: readonly RoomFacts[];
  /** The users and the addresses that send the most messages. */
  readonly users: readonly TopKey[];
  readonly addresses: readonly TopKey[];
  readonly recent: readonly RecentEvent[];
  /** The workers of all machines; undefined if another worker of this machine counts them, or they cannot be counted. */
  readonly servers: number | undefined;
}

/** A room of Socket.IO on one worker or machine. */
export interface RoomFacts {
  namespace: string;
  /** The room as Socket.IO knows it, and as it is shown. */
  room: string;
  name: string;
  members: number;
  /** Broadcasts per second, approximately. */
  perSecond: number;
}
