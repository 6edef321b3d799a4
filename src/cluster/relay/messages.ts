import { deserialize } from 'node:v8';
import { MalformedMessage } from '../../base/errors.js';
import type { ResponseHeaders } from '../../engine/http/exchange.js';
import type { RequestParts } from '../../engine/http/request.js';
import type { MovingSession } from '../../engine/session/pending-sessions.js';

/**
 * The messages of the relay. A *receiver* is the worker that accepted the client's connection; the *owner* is the
 * worker with the client's session. `requestId` is the receiver's number for the connection.
 *
 * ```
 * CLIENT            RECEIVER                           OWNER
 *   │  HTTP request    │  request(parts, body)             │
 *   │ ───────────────▶ │ ────────────────────────────────▶ │
 *   │  response        │  response(status, headers), body  │
 *   │ ◀─────────────── │ ◀──────────────────────────────── │
 *   │  WebSocket       │  upgrade(parts)                   │
 *   │ ───────────────▶ │ ────────────────────────────────▶ │
 *   │  101             │  accept(headers)                  │
 *   │ ◀─────────────── │ ◀──────────────────────────────── │
 *   │  messages        │  clientText ▶      ◀ text         │
 *   │ ◀──────────────▶ │ ◀───────────────────────────────▶ │
 * ```
 *
 * A pending session moves to the receiver of its WebSocket instead. The old owner passes on the polling requests that
 * still arrive for it:
 *
 * ```
 *   │  WebSocket       │  upgrade(parts)                   │
 *   │ ───────────────▶ │ ────────────────────────────────▶ │
 *   │  101             │  move(session)                    │
 *   │ ◀─────────────── │ ◀──────────────────────────────── │
 *   │                  │  request(parts): the waiting poll │
 *   │                  │  request(parts, body): and POST   │
 *   │                  │ ◀──────────────────────────────── │
 *   │  upgraded        │  noMoreRequests(id)                │
 *   │ ───────────────▶ │ ────────────────────────────────▶ │
 * ```
 *
 * The body of each begins with the requestId (4 bytes, little endian).
 */

/** Sends one message to the other worker of a relayed connection. */
export type SendOp = (type: number, body?: string | Uint8Array) => void;

export interface RelayedRequest {
  parts: RequestParts;
  /** Why there is no body. */
  bodyError?: string;
  /** How many workers have passed it on. */
  hops: number;
}

export interface RelayedResponse {
  status: number;
  headers: ResponseHeaders;
  /** Whether the body is text. */
  isText: boolean;
}

/** After this number of bytes, the receiver of a WebSocket reports the client's progress to the owner. */
export const REPORT_EVERY = 65_536;

/** The progress of a WebSocket's client, in bytes. */
export interface RelayedProgress {
  /** Bytes that the receiver has sent, or buffered for the client, so far. */
  received: number;
  /** Bytes that wait for the client at the receiver. */
  waiting: number;
}

export interface RelayedClose {
  code: number;
  reason: string;
}

/** A session goes on on the successor, or its client has to reconnect. */
export interface RelayedArrival {
  sid: string;
  /** Why it cannot go on. */
  failure?: string;
}

const LENGTH = 4;

/** Encodes a JSON value and the bytes that follow it. */
export function encodeBody(value: unknown, rest: string | Uint8Array = ''): Buffer {
  const json = Buffer.from(JSON.stringify(value));
  const length = Buffer.alloc(LENGTH);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, typeof rest === 'string' ? Buffer.from(rest) : rest]);
}

/** @throws MalformedMessage */
export function decodeRelayMessage(bytes: Buffer): { requestId: number; body: Buffer } {
  if (bytes.length < LENGTH) throw new MalformedMessage('a relayed message is too short');
  return { requestId: bytes.readUInt32LE(0), body: bytes.subarray(LENGTH) };
}

/** @throws MalformedMessage */
export function parseRelayJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedMessage('a relayed message is not JSON');
  }
}

/**
 * The counterpart of {@link encodeBody}.
 * @param check throws a MalformedMessage if the value is not what it should be
 * @throws MalformedMessage
 */
export function decodeBody<T>(body: Buffer, check: (value: unknown) => T): { value: T; rest: Buffer } {
  const end = body.length < LENGTH ? Number.POSITIVE_INFINITY : LENGTH + body.readUInt32LE(0);
  if (end > body.length) throw new MalformedMessage('a relayed message is too short');
  return { value: check(parseRelayJson(body.toString('utf8', LENGTH, end))), rest: body.subarray(end) };
}

/** Checks of the JSON in relayed messages. Each one throws a MalformedMessage. */

type Fields = Record<string, unknown>;

function fieldsOf(value: unknown): Fields {
  expectThat(typeof value === 'object' && value !== null && !Array.isArray(value));
  return value as Fields;
}

function expectThat(isTrue: boolean): void {
  if (!isTrue) throw new MalformedMessage('a relayed message has the wrong fields');
}

const isOptional = (value: unknown, type: 'string' | 'number') => value === undefined || typeof value === type;

function checkParts(value: unknown): void {
  const { method, url, headers, remoteAddress } = fieldsOf(value);
  expectThat(typeof method === 'string' && typeof url === 'string' && typeof remoteAddress === 'string');
  fieldsOf(headers);
}

export function asRequest(value: unknown): RelayedRequest {
  const { parts, bodyError, hops } = fieldsOf(value);
  checkParts(parts);
  expectThat(isOptional(bodyError, 'string') && Number.isSafeInteger(hops));
  return value as RelayedRequest;
}

export function asResponse(value: unknown): RelayedResponse {
  const { status, headers } = fieldsOf(value);
  expectThat(typeof status === 'number');
  fieldsOf(headers);
  return value as RelayedResponse;
}

/** @throws MalformedMessage */
export function decodeMove(body: Buffer): MovingSession {
  let moving: unknown;
  try {
    moving = deserialize(body);
  } catch {
    throw new MalformedMessage('a session that moves cannot be read');
  }
  const { id, parts, additions } = fieldsOf(moving);
  expectThat(typeof id === 'string');
  checkParts(parts);
  const { names, values, bare } = fieldsOf(additions);
  expectThat(Array.isArray(names) && Array.isArray(bare));
  fieldsOf(values);
  return moving as MovingSession;
}

export function asClose(value: unknown): Partial<RelayedClose> {
  const { code, reason } = fieldsOf(value);
  expectThat(isOptional(code, 'number') && isOptional(reason, 'string'));
  return value as Partial<RelayedClose>;
}

export function asProgress(value: unknown): RelayedProgress {
  const { received, waiting } = fieldsOf(value);
  expectThat(Number.isFinite(received) && Number.isFinite(waiting));
  return value as RelayedProgress;
}

export function asArrival(value: unknown): RelayedArrival {
  const { sid, failure } = fieldsOf(value);
  expectThat(typeof sid === 'string' && isOptional(failure, 'string'));
  return value as RelayedArrival;
}

export function asHeaders(value: unknown): ResponseHeaders {
  return fieldsOf(value) as ResponseHeaders;
}
