import { z } from 'zod';
import { GjallarError } from '../../base/errors.js';
import type { Engine } from '../../index.js';
import type { AdminGuard } from '../../io/http/index.js';
import { type Call, type Caller, withIntegers } from './rooms.js';

/** How many rooms a response lists at most, and by default. */
export const MAX_ROOMS_LISTED = 1000;
/** About how long a room is in a response, in bytes. */
const ROOM_BYTES = 100;

const statsQuery = z.object({ limit: z.int().min(1).max(MAX_ROOMS_LISTED).default(100) });

/** The parts that the operator's routes use. */
export interface OperatorOptions {
  /** The operator's account. If it is undefined, the statistics are public and the drain is off. */
  admin: AdminGuard | undefined;
  /** Whether the statistics name rooms even if there is no {@link admin}. */
  namesRooms: boolean;
  /** Totals, and the {@link MAX_ROOMS_LISTED} largest rooms. */
  stats(): Promise<{ totals: object; rooms: readonly object[] }>;
  /** Charges callers for what the worker makes for them; undefined for no charge. */
  costs?: Engine['costs'];
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
  const address = request.connection.remoteAddress;
  await options.admin?.require({ headers: request.headers, address });
  const query = statsQuery.safeParse(withIntegers(request._query));
  if (!query.success) {
    throw new GjallarError('BAD_PAGE', `Invalid limit. Use a number of rooms from 1 to ${MAX_ROOMS_LISTED}.`);
  }
  const { totals, rooms } = await options.stats();
  const listed = options.admin || options.namesRooms ? rooms.slice(0, query.data.limit) : undefined;
  // The figures are counted once a second. The response is made for each request.
  options.costs?.chargeAtOnce(`stats ${address}`, ROOM_BYTES * (listed?.length ?? 1));
  return { totals, rooms: listed };
}

/** Drains the machine. The response is sent before the drain begins. */
export async function drain(call: Call, options: OperatorOptions): Promise<object> {
  const caller = await requireOperator(call, options);
  call.status = 202;
  return options.audit(caller, 'drain', {}, () => {
    options.drain();
    return { state: 'draining', over: options.drainTimeout };
  });
}

/**
 * Requires the operator, in a request that no page of another origin has made.
 * @throws GjallarError ADMIN_OFF, ADMIN_ONLY, RATE_LIMITED, ORIGIN_FORBIDDEN
 */
export async function requireOperator({ request }: Call, { admin, isProxied }: OperatorOptions): Promise<Caller> {
  if (!admin) throw new GjallarError('ADMIN_OFF');
  await admin.requireOwnPage(request, isProxied);
  return { operator: admin.user, address: request.connection.remoteAddress };
}
