import type { Identity } from '../accounts/identity.js';
import type { EngineRequest } from '../engine/http/request.js';
import { GjallarError } from '../errors.js';
import { isSame } from '../http/guard.js';
import { readJson } from '../http/json.js';
import { decodeRoom } from '../http/paths.js';
import { type Call, withIntegers } from './call.js';

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
export async function authorize(
  { headers }: EngineRequest,
  { apiKey, rooms }: RoomsOptions,
): Promise<Identity | undefined> {
  if (apiKey === undefined && !rooms.identify) throw new GjallarError('API_OFF');
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (given === undefined) throw new GjallarError('UNAUTHORIZED');
  if (apiKey !== undefined && isSame(given, apiKey)) return undefined;
  if (!rooms.identify) throw new GjallarError('UNAUTHORIZED');
  return rooms.identify(given);
}
