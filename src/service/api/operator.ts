import * as z from 'zod/mini';
import { GjallarError } from '../../base/errors.js';
import { type HttpExchange, readJson } from '../../io/http/index.js';
import { MAX_ROOMS_LISTED } from '../chat/presence/stats.js';
import { type Api, type Call, type Operation, segmentOf, withIntegers } from './call.js';

/** About how long a room is in a response, in bytes. */
const ROOM_BYTES = 100;

export const statsQuery = z.object({ limit: z._default(z.int().check(z.gte(1), z.lte(MAX_ROOMS_LISTED)), 100) });

/** Totals over all workers and machines, and the largest rooms if their names may be shown. */
export async function readStats({ request }: Call, { port, chat }: Api): Promise<object> {
  const address = request.connection.remoteAddress;
  await port.admin?.require({ headers: request.headers, address });
  const query = statsQuery.safeParse(withIntegers(request._query));
  if (!query.success) {
    throw new GjallarError('BAD_PAGE', `Invalid limit. Use a number of rooms from 1 to ${MAX_ROOMS_LISTED}.`);
  }
  const { totals, rooms } = await chat.stats();
  // If rooms require a token, their names are not public.
  const listed = port.admin || !chat.context.accounts ? rooms.slice(0, query.data.limit) : undefined;
  // The figures are counted once a second. The response is made for each request.
  port.engine.costs.chargeAtOnce(`stats ${address}`, ROOM_BYTES * (listed?.length ?? 1));
  return { totals, rooms: listed };
}

/**
 * Requires the operator, in a request that no page of another origin has made.
 * @throws GjallarError ADMIN_OFF, ADMIN_ONLY, RATE_LIMITED, ORIGIN_FORBIDDEN
 */
async function requireOperator({ request }: Call, { port: { admin }, config }: Api) {
  if (!admin) throw new GjallarError('ADMIN_OFF');
  await admin.requireOwnPage(request, config.trustProxy > 0);
  return { operator: admin.user, address: request.connection.remoteAddress };
}

/** What an action of the operator is about, as the log shows it, and the action. */
type Plan = [target: object, work: () => Promise<object> | object];

/** An action of the operator, which is logged. */
const acts = (name: string, plan: (call: Call, api: Api) => Plan | Promise<Plan>): Operation =>
  async function act(call, api) {
    const caller = await requireOperator(call, api);
    const [target, work] = await plan(call, api);
    return api.worker.audited(caller, name, target, work);
  };

const actsOn = (type: 'disconnect' | 'close-room'): Operation =>
  async function act(call, api) {
    const caller = await requireOperator(call, api);
    return api.worker.act(caller, type, await readJson(call.exchange));
  };

export const disconnect = actsOn('disconnect');
export const closeRoom = actsOn('close-room');

/** Drains the machine. The response is sent before the drain begins. */
export const drain = acts('drain', (call, { worker, config }) => {
  call.status = 202;
  const work = () => {
    worker.drainMachine();
    return { state: 'draining', over: config.drainTimeout };
  };
  return [{}, work];
});

export const revokeTokens = acts('revoke-tokens', async ({ exchange }, { tokens }) => {
  const input = await readJson(exchange);
  return [asTarget(input), () => tokens.revoke(input)];
});

export async function listRevocations(call: Call, api: Api): Promise<object> {
  await requireOperator(call, api);
  return api.tokens.list();
}

export const liftRevocation = acts('lift-revocation', (call, { tokens }) => {
  const id = segmentOf(call, 'NOT_FOUND');
  return [{ id }, () => tokens.lift(id)];
});

/** Acknowledges that the history has lost messages: the problem disappears from all workers and machines. */
export const acknowledgeLoss = acts('acknowledge-loss', (_call, { loss }) => {
  const work = async () => {
    if (!loss) throw new GjallarError('HISTORY_OFF');
    await loss.acknowledge().catch((error: unknown) => {
      if (error instanceof GjallarError) throw error;
      throw Object.assign(new GjallarError('HISTORY_UNAVAILABLE'), { cause: error });
    });
    return {};
  };
  return [{}, work];
});

export const deleteMessage = acts('delete-message', (call, { chat }) => {
  const room = segmentOf(call, 'BAD_ROOM');
  const given = call.parameters[1]!;
  if (!/^\d{1,15}$/.test(given)) throw new GjallarError('NOT_FOUND', 'The offset of a message is a number from 1.');
  const offset = Number(given);
  const { tag } = withIntegers(call.request._query) as { tag?: number };
  return [{ room, offset, ...(tag !== undefined && { tag }) }, () => chat.messages.deleteMessage(room, offset, tag)];
});

export const deleteRoomMessages = acts('delete-room-messages', (call, { chat }) => {
  const room = segmentOf(call, 'BAD_ROOM');
  return [{ room }, () => chat.messages.deleteRoom(room)];
});

export const deleteUserMessages = acts('delete-user-messages', (call, { chat }) => {
  const user = segmentOf(call, 'BAD_NAME');
  return [{ user }, () => chat.messages.deleteUser(user)];
});

const exporting = acts('export-user', (call, { chat }) => {
  const user = segmentOf(call, 'BAD_NAME');
  const work = async () => {
    const pages = chat.messages.export(user);
    // An error of the first page still gets a response of its own.
    const first = await pages.next();
    return streamLines(call, pages, first);
  };
  return [{ user }, work];
});

/** Streams what the server has of a user, one JSON object in each line. The last line has `end`. */
export async function exportUser(call: Call, api: Api): Promise<undefined> {
  await exporting(call, api);
}

async function streamLines(
  { exchange, headers, request }: Call,
  pages: AsyncGenerator<object[]>,
  first: IteratorResult<object[]>,
): Promise<{ lines: number; complete: boolean }> {
  const withType = { ...headers, 'Content-Type': 'application/x-ndjson' };
  if (exchange.finished) return { lines: 0, complete: false };
  if (request.method === 'HEAD') {
    exchange.send(200, withType, '');
    return { lines: 0, complete: true };
  }
  const body = (exchange as Required<HttpExchange>).stream(200, withType);
  let lines = 0;
  try {
    for (let page = first; !page.done; page = await pages.next()) {
      lines += page.value.length;
      if (page.value.length > 0 && !(await body.write(textOf(page.value)))) return { lines, complete: false };
    }
    const complete = await body.write(textOf([{ end: true, lines }]));
    body.end();
    return { lines, complete };
  } catch (error) {
    // The status is sent already. A response without its last line is not whole.
    body.abort();
    throw error;
  } finally {
    await pages.return(undefined);
  }
}

const textOf = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

/** The caller chooses these texts, so the log gets only their beginning. */
const MAX_LOGGED_CHARACTERS = 200;

/** The fields of a body that the log shows. */
function asTarget(input: unknown): object {
  const fields = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
  const shown = ['user', 'jti', 'before'].filter((name) => ['string', 'number'].includes(typeof fields[name]));
  return Object.fromEntries(shown.map((name) => [name, String(fields[name]).slice(0, MAX_LOGGED_CHARACTERS)]));
}
