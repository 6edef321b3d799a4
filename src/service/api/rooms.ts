import { GjallarError } from '../../base/errors.js';
import type { EngineRequest } from '../../index.js';
import { decodeRoom, type Headers, type HttpExchange, isSame, readBody, readJson } from '../../io/http/index.js';
import type { Identity } from '../accounts/identity.js';

/** The chat as the API uses it. All input is passed on unchecked. */
export interface Rooms {
  /** @param readInput called once the caller is allowed to publish to the room */
  publish(
    caller: Identity | undefined,
    room: string,
    readInput: () => Promise<unknown>,
    key: string | undefined,
  ): Promise<object>;
  /** Verifies a token; undefined if the server does not use tokens. */
  readonly identify: ((token: unknown) => Promise<Identity>) | undefined;
  read(caller: Identity | undefined, room: string, query: unknown): Promise<object>;
}

export interface RoomsOptions {
  /** Without a key, and without tokens, every request is rejected. */
  apiKey: string | undefined;
  rooms: Rooms;
}

export async function publish({ exchange, request, parameters }: Call, options: RoomsOptions): Promise<object> {
  const caller = await authorize(request, options);
  const room = decodeRoom(parameters[0]!);
  return options.rooms.publish(caller, room, () => readJson(exchange), request.headers['idempotency-key']);
}

export async function readMessages({ request, parameters }: Call, options: RoomsOptions): Promise<object> {
  const caller = await authorize(request, options);
  const { epoch, ...numbers } = request._query;
  const query = withIntegers(numbers);
  return options.rooms.read(caller, decodeRoom(parameters[0]!), epoch === undefined ? query : { ...query, epoch });
}

/** The caller's identity; undefined for the API key. @throws GjallarError API_OFF, UNAUTHORIZED, TOKEN_… */
async function authorize({ headers }: EngineRequest, { apiKey, rooms }: RoomsOptions): Promise<Identity | undefined> {
  if (apiKey === undefined && !rooms.identify) throw new GjallarError('API_OFF');
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (given === undefined) throw new GjallarError('UNAUTHORIZED');
  if (apiKey !== undefined && isSame(given, apiKey)) return undefined;
  if (!rooms.identify) throw new GjallarError('UNAUTHORIZED');
  return rooms.identify(given);
}

/** The state rooms as the API uses them. A caller is undefined if it has the API key. Rooms and keys are unchecked. */
export interface States {
  get(caller: Identity | undefined, room: string, key: string): Promise<unknown>;
  /** @param readBody called once the caller is allowed to change the room; resolves with JSON */
  set(caller: Identity | undefined, room: string, key: string, readBody: () => Promise<Buffer>): Promise<void>;
  patch(caller: Identity | undefined, room: string, key: string, readBody: () => Promise<Buffer>): Promise<void>;
  delete(caller: Identity | undefined, room: string, key: string): Promise<boolean>;
}

export interface StateOptions extends RoomsOptions {
  states: States;
}

export async function getState(call: Call, options: StateOptions): Promise<object> {
  const { caller, states, room } = await admit(call, options);
  return { value: await states.get(caller, room, keyOf(call)) };
}

export async function setState(call: Call, options: StateOptions): Promise<object> {
  const { caller, states, room } = await admit(call, options);
  await states.set(caller, room, keyOf(call), () => readBody(call.exchange));
  return {};
}

export async function patchState(call: Call, options: StateOptions): Promise<object> {
  const { caller, states, room } = await admit(call, options);
  await states.patch(caller, room, keyOf(call), () => readBody(call.exchange));
  return {};
}

export async function deleteState(call: Call, options: StateOptions): Promise<object> {
  const { caller, states, room } = await admit(call, options);
  return { deleted: await states.delete(caller, room, keyOf(call)) };
}

async function admit({ request, parameters }: Call, options: StateOptions) {
  const caller = await authorize(request, options);
  return { caller, states: options.states, room: decodeRoom(parameters[0]!) };
}

/** @throws GjallarError BAD_STATE_KEY */
function keyOf({ parameters }: Call): string {
  try {
    return decodeURIComponent(parameters[1]!);
  } catch {
    throw new GjallarError('BAD_STATE_KEY');
  }
}

/** The operator, as the log names them. */
export interface Caller {
  operator: string;
  address: string | undefined;
}

/** A query whose numbers are numbers. A value that is no plain integer stays a text, and is rejected later. */
export function withIntegers(query: Readonly<Record<string, string>>): Record<string, number | string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, /^\d{1,15}$/.test(value) ? Number(value) : value]),
  );
}

/** One call of the API. */
export interface Call {
  exchange: HttpExchange;
  request: EngineRequest;
  /** The parameters of the path, still percent-encoded. */
  parameters: string[];
  /** The headers of every response. */
  headers: Headers;
  /** The HTTP status of a successful response. */
  status: number;
}
