import { MalformedMessage } from '../../base/errors.js';
import { PacketType } from '../../engine/parser/socket-io-parser.js';
import { MessageType } from './message-type.js';

/**
 * Checks of what arrives from a backplane. socket.io's adapters take the form of messages for granted, but every program
 * that can reach the same Redis can publish. Each function throws a MalformedMessage. Unknown types of messages pass:
 * the adapters ignore them, and newer versions may have more types.
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

/** The rooms that a message is for. Emitters in other languages omit what is empty. */
function checkOptions(value: unknown): void {
  const { rooms, except, flags } = fieldsOf(value, 'the options');
  for (const list of [rooms, except]) expectThat((list ?? undefined) === undefined || Array.isArray(list), 'rooms');
  if ((flags ?? undefined) !== undefined) fieldsOf(flags, 'the flags');
}

function checkRooms(rooms: unknown): void {
  expectThat(Array.isArray(rooms) || typeof rooms === 'string', 'the rooms to join or leave must be an array');
}

function checkSockets(sockets: unknown): void {
  expectThat(Array.isArray(sockets), 'the sockets must be an array');
  for (const socket of sockets as unknown[]) {
    const { id, rooms } = fieldsOf(socket, 'a socket');
    expectThat(typeof id === 'string' && Array.isArray(rooms), 'a socket must have an id and rooms');
  }
}

/**
 * A message between the adapters that are built on socket.io's ClusterAdapter.
 * @returns whether listeners of the application handle it, so that their exceptions are its own
 */
export function checkClusterMessage(value: unknown): boolean {
  const message = fieldsOf(value, 'the message');
  expectThat(typeof message.uid === 'string' && typeof message.nsp === 'string', 'a message must name its sender');
  expectThat(Number.isInteger(message.type), 'the type of a message must be an integer');
  const type = message.type as MessageType;
  if (!(type in clusterChecks)) return false;
  const data = fieldsOf(message.data, 'the data');
  checkId(data.requestId, 'the id of a request');
  clusterChecks[type]!(data);
  return type === MessageType.SERVER_SIDE_EMIT;
}

const clusterChecks: { [type in MessageType]?: (data: Fields) => void } = {
  [MessageType.BROADCAST]: ({ packet, opts }) => {
    checkPacket(packet);
    checkOptions(opts);
  },
  [MessageType.SOCKETS_JOIN]: ({ opts, rooms }) => {
    checkOptions(opts);
    checkRooms(rooms);
  },
  [MessageType.SOCKETS_LEAVE]: ({ opts, rooms }) => {
    checkOptions(opts);
    checkRooms(rooms);
  },
  [MessageType.DISCONNECT_SOCKETS]: ({ opts }) => checkOptions(opts),
  [MessageType.FETCH_SOCKETS]: ({ opts }) => checkOptions(opts),
  [MessageType.FETCH_SOCKETS_RESPONSE]: ({ sockets }) => checkSockets(sockets),
  [MessageType.SERVER_SIDE_EMIT]: ({ packet }) => checkEvent(packet),
  [MessageType.SERVER_SIDE_EMIT_RESPONSE]: () => {},
  [MessageType.BROADCAST_CLIENT_COUNT]: ({ clientCount }) =>
    expectThat(typeof clientCount === 'number', 'the number of clients must be a number'),
  [MessageType.BROADCAST_ACK]: () => {},
};
