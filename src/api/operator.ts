import { isForeign } from '../engine/limits/origin.js';
import { GjallarError } from '../errors.js';
import { type Admin, requireAdmin } from '../http/guard.js';
import type { Call } from './call.js';

/** How many rooms are listed at most, and where nothing is asked for. */
export const MAX_ROOMS_LISTED = 1000;
const DEFAULT_ROOMS = 100;

/** What the operator looks at, and does. */
export interface OperatorOptions {
  /** Who the operator is; where that is undefined everybody may look, and nobody may drain. */
  admin: Admin | undefined;
  /** Whether rooms are named although there is no {@link admin}. */
  namesRooms: boolean;
  /** Totals, and the {@link MAX_ROOMS_LISTED} largest rooms. */
  stats(): Promise<{ totals: object; rooms: readonly object[] }>;
  /** Whether what proxies say of the host counts. */
  isProxied: boolean;
  /** Sends the clients of this machine away. */
  drain(): void;
  /** How long that takes, in ms. */
  drainTimeout: number;
}

/** Totals over all workers and machines, and the largest rooms where their names may be told. */
export async function readStats({ request }: Call, options: OperatorOptions): Promise<object> {
  requireAdmin(request, options.admin);
  const { limit = String(DEFAULT_ROOMS) } = request._query;
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > MAX_ROOMS_LISTED) {
    throw new GjallarError('BAD_PAGE', `The limit is a number of rooms from 1 to ${MAX_ROOMS_LISTED}.`);
  }
  const { totals, rooms } = await options.stats();
  return options.admin || options.namesRooms ? { totals, rooms: rooms.slice(0, Number(limit)) } : { totals };
}

/** Has the clients of the whole machine sent away, to others. The answer comes before that has begun. */
export async function drain(call: Call, options: OperatorOptions): Promise<object> {
  if (!options.admin) throw new GjallarError('ADMIN_OFF');
  requireAdmin(call.request, options.admin);
  // A browser sends the operator's password with what a page of somebody else has it send.
  if (isForeign(call.request, [], options.isProxied)) {
    throw new GjallarError('ORIGIN_FORBIDDEN', 'Pages of other origins may not do this.');
  }
  options.drain();
  call.status = 202;
  return { state: 'draining', over: options.drainTimeout };
}
