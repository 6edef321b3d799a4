import { GjallarError } from '../../base/errors.js';
import { isSame, readBody, readJson } from '../../io/http/index.js';
import type { Identity } from '../accounts/identity.js';
import { type Api, type Call, segmentOf, withIntegers } from './call.js';

export async function publish(call: Call, api: Api): Promise<object> {
  const caller = await authorize(call, api);
  const { exchange, request } = call;
  return api.chat.publish(caller, segmentOf(call), () => readJson(exchange), request.headers['idempotency-key']);
}

export async function readMessages(call: Call, api: Api): Promise<object> {
  const caller = await authorize(call, api);
  return api.chat.read(caller, segmentOf(call), withIntegers(call.request._query));
}

export async function getState(call: Call, api: Api): Promise<object> {
  const caller = await authorize(call, api);
  return { value: await api.chat.states.get(caller, segmentOf(call), keyOf(call)) };
}

export async function setState(call: Call, api: Api): Promise<object> {
  const caller = await authorize(call, api);
  await api.chat.states.set(caller, segmentOf(call), keyOf(call), () => readBody(call.exchange));
  return {};
}

export async function patchState(call: Call, api: Api): Promise<object> {
  const caller = await authorize(call, api);
  await api.chat.states.patch(caller, segmentOf(call), keyOf(call), () => readBody(call.exchange));
  return {};
}

export async function deleteState(call: Call, api: Api): Promise<object> {
  const caller = await authorize(call, api);
  return { deleted: await api.chat.states.delete(caller, segmentOf(call), keyOf(call)) };
}

/** The caller's identity; undefined for the API key. @throws GjallarError API_OFF, UNAUTHORIZED, TOKEN_… */
async function authorize({ request }: Call, { apiKey, chat }: Api): Promise<Identity | undefined> {
  if (apiKey === undefined && !chat.identify) throw new GjallarError('API_OFF');
  const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (given === undefined) throw new GjallarError('UNAUTHORIZED');
  if (apiKey !== undefined && isSame(given, apiKey)) return undefined;
  if (!chat.identify) throw new GjallarError('UNAUTHORIZED');
  return chat.identify(given);
}

/** @throws GjallarError BAD_STATE_KEY */
function keyOf({ parameters }: Call): string {
  try {
    return decodeURIComponent(parameters[1]!);
  } catch {
    throw new GjallarError('BAD_STATE_KEY');
  }
}
