import { MalformedMessage } from '../../base/errors.js';
import { PacketType } from '../../engine/parser/socket-io-parser.js';
import type { Message } from './message.js';
import { types } from './types.js';

/**
 * Checks of what arrives from other workers and emitters: every program that can reach the same Redis can publish. Each function
 * throws a MalformedMessage. Unknown types of messages pass, and are ignored.
 */

type Fields = Record<string, unknown>;

/** Event names that clients reject, and that mean something else on a server. */
const RESERVED = new Set<unknown>([
  ...['connect', 'connect_error', 'connection', 'disconnect', 'disconnecting'],
  ...['newListener', 'removeListener', 'new_namespace'],
]);

function expectThat(isTrue: boolean, what: string): void {
  if (!isTrue) throw new MalformedMessage(what);
}

function fieldsOf(value: unknown, what: string): Fields {
  expectThat(typeof value === 'object' && value !== null && !Array.isArray(value), `${what} must be an object`);
  return value as Fields;
}

function checkId(id: unknown, what: string): void {
  expectThat(id === undefined || typeof id === 'string', `${what} must be a string`);
}

function checkEvent(data: unknown): void {
  expectThat(Array.isArray(data), 'the data of an event must be an array');
  const [event] = data as unknown[];
  const isName = (typeof event === 'string' && !RESERVED.has(event)) || typeof event === 'number';
  expectThat(isName, 'the data of an event must begin with its name');
}

/** A packet for clients. A client that receives a malformed one disconnects. */
function checkPacket(value: unknown): void {
  const { type, data, nsp, id } = fieldsOf(value, 'the packet');
  expectThat(type === PacketType.EVENT || type === PacketType.BINARY_EVENT, 'only events can be broadcast');
  expectThat(id === undefined || typeof id === 'number', 'the id of the packet must be a number');
  checkId(nsp, 'the namespace');
  checkEvent(data);
}

/** The rooms that a message is for. */
function checkOptions(value: unknown): void {
  const { rooms, except, flags } = fieldsOf(value, 'the options');
  for (const list of [rooms, except]) expectThat(Array.isArray(list), 'the options must have rooms');
  fieldsOf(flags, 'the flags');
}

function checkSockets(sockets: unknown): void {
  expectThat(Array.isArray(sockets), 'the sockets must be an array');
  for (const socket of sockets as unknown[]) {
    const { id, rooms } = fieldsOf(socket, 'a socket');
    expectThat(typeof id === 'string' && Array.isArray(rooms), 'a socket must have an id and rooms');
  }
}

/** A message between the servers of a namespace. */
export function checkMessage(message: { type: number; nsp: unknown; data: unknown }): asserts message is Message {
  expectThat(typeof message.nsp === 'string', 'a message must name its namespace');
  const data = fieldsOf(message.data, 'the data');
  checkId(data.requestId, 'the id of a request');
  checksOf[message.type]?.(data);
}

function checkTarget({ opts, rooms }: Fields): void {
  checkOptions(opts);
  expectThat(Array.isArray(rooms), 'the rooms to join or leave must be an array');
}

const checksOf: { readonly [type: number]: (data: Fields) => void } = {
  [types.question]: ({ packet, opts }) => {
    checkPacket(packet);
    checkOptions(opts);
  },
  [types.socketsJoin]: checkTarget,
  [types.socketsLeave]: checkTarget,
  [types.disconnectSockets]: ({ opts }) => checkOptions(opts),
  [types.fetchSockets]: ({ opts }) => checkOptions(opts),
  [types.fetchedSockets]: ({ sockets }) => checkSockets(sockets),
  [types.serverSideEmit]: ({ packet }) => checkEvent(packet),
  [types.clientCount]: ({ clientCount }) =>
    expectThat(typeof clientCount === 'number', 'the number of clients must be a number'),
};
