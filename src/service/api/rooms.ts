import { GjallarError } from '../../base/errors.js';
import { isSame, readBody, readJson } from '../../io/http/index.js';
import type { Identity } from '../accounts/identity.js';
import type { ChatContext } from '../chat/context.js';
import { publishMessage, readRoomPage } from '../chat/conversations/publish.js';
import { identifyByToken } from '../chat/identify.js';
import { type Api, type Call, segmentOf, withIntegers } from './call.js';

/** An operation on the room or the state room that the path names, for a caller with the API key or a token. */
const calls = (
  work: (context: ChatContext, caller: Identity | undefined, room: string, call: Call) => Promise<object>,
) =>
  async function operation(call: Call, api: Api): Promise<object> {
    const caller = await authorize(call, api);
    return work(api.chat.context, caller, segmentOf(call, 'BAD_ROOM'), call);
  };

export const publish = calls((context, caller, room, { exchange, request }) =>
  publishMessage(context, caller, room, () => readJson(exchange), request.headers['idempotency-key']),
);

export const readMessages = calls((context, caller, room, { request }) =>
  readRoomPage(context, caller, room, withIntegers(request._query)),
);

export const getState = calls(async ({ states }, caller, room, call) => ({
  value: await states.get(caller, room, keyOf(call)),
}));

export const setState = calls(async ({ states }, caller, room, call) => {
  await states.set(caller, room, keyOf(call), () => readBody(call.exchange));
  return {};
});

export const patchState = calls(async ({ states }, caller, room, call) => {
  await states.patch(caller, room, keyOf(call), () => readBody(call.exchange));
  return {};
});

export const deleteState = calls(async ({ states }, caller, room, call) => ({
  deleted: await states.delete(caller, room, keyOf(call)),
}));

/** The caller's identity; undefined for the API key. @throws GjallarError API_OFF, UNAUTHORIZED, TOKEN_… */
async function authorize({ request }: Call, { config: { apiKey }, chat }: Api): Promise<Identity | undefined> {
  const { accounts } = chat.context;
  if (apiKey === undefined && !accounts) throw new GjallarError('API_OFF');
  const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (given === undefined) throw new GjallarError('UNAUTHORIZED');
  if (apiKey !== undefined && isSame(given, apiKey)) return undefined;
  if (!accounts) throw new GjallarError('UNAUTHORIZED');
  return identifyByToken(accounts, given);
}

const keyOf = (call: Call) => segmentOf(call, 'BAD_STATE_KEY', 1);
