import { isForeign } from '../engine/limits/origin.js';
import { GjallarError } from '../errors.js';
import { type Admin, requireAdmin } from '../http/guard.js';
import type { Call, Caller } from './call.js';

/** How many rooms a response lists at most, and by default. */
export const MAX_ROOMS_LISTED = 1000;
const DEFAULT_ROOMS = 100;

/** The parts that the operator's routes use. */
export interface OperatorOptions {
  /** The operator's account. If it is undefined, the statistics are public and the drain is off. */
  admin: Admin | undefined;
  /** Whether the statistics name rooms even if there is no {@link admin}. */
  namesRooms: boolean;
  /** Totals, and the {@link MAX_ROOMS_LISTED} largest rooms. */
  stats(): Promise<{ totals: object; rooms: readonly object[] }>;
  /** Whether the proxies' headers about the host are trusted. */
  isProxied: boolean;
  /** Logs an action of the operator, and its result. */
  audit<Result extends object>(
    caller: Caller,
    action: string,
    target: object,
    work: () => Promise<Result> | Result,
  ): Promise<Result>;
  /** Drains the machine. */
  drain(): void;
  /** How long the drain takes, in ms. */
  drainTimeout: number;
}

/** Totals over all workers and machines, and the largest rooms if their names may be shown. */
export async function readStats({ request }: Call, options: OperatorOptions): Promise<object> {
  requireAdmin(request, options.admin);
  const { limit = String(DEFAULT_ROOMS) } = request._query;
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > MAX_ROOMS_LISTED) {
    throw new GjallarError('BAD_PAGE', `Invalid limit. Use a number of rooms from 1 to ${MAX_ROOMS_LISTED}.`);
  }
  const { totals, rooms } = await options.stats();
  return options.admin || options.namesRooms ? { totals, rooms: rooms.slice(0, Number(limit)) } : { totals };
}

/** Drains the machine. The response is sent before the drain begins. */
export async function drain(call: Call, options: OperatorOptions): Promise<object> {
  const caller = requireOperator(call, options);
  call.status = 202;
  return options.audit(caller, 'drain', {}, () => {
    options.drain();
    return { state: 'draining', over: options.drainTimeout };
  });
}

/**
 * Requires the operator, in a request that no page of another origin has made.
 * @throws GjallarError ADMIN_OFF, ADMIN_ONLY, ORIGIN_FORBIDDEN
 */
export function requireOperator({ request }: Call, { admin, isProxied }: OperatorOptions): Caller {
  if (!admin) throw new GjallarError('ADMIN_OFF');
  requireAdmin(request, admin);
  // A browser adds the operator's password to requests that a foreign page makes.
  if (isForeign(request, [], isProxied)) {
    throw new GjallarError(
      'ORIGIN_FORBIDDEN',
      'Pages of other origins may not use this path. Send the request from a tool or from a page of this server.',
    );
  }
  return { operator: admin.user, address: request.connection.remoteAddress };
}
