import type { ResponseHeaders } from '../../engine/http/exchange.js';
import type { MovingSession } from '../../engine/session/pending-sessions.js';
import { MalformedMessage } from '../../errors.js';
import type { RelayedClose, RelayedProgress, RelayedRequest, RelayedResponse } from './messages.js';

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
  const { parts, bodyError } = fieldsOf(value);
  checkParts(parts);
  expectThat(isOptional(bodyError, 'string'));
  return value as RelayedRequest;
}

export function asResponse(value: unknown): RelayedResponse {
  const { status, headers } = fieldsOf(value);
  expectThat(typeof status === 'number');
  fieldsOf(headers);
  return value as RelayedResponse;
}

export function asMovedSession(value: unknown): MovingSession {
  const { id, parts } = fieldsOf(value);
  expectThat(typeof id === 'string');
  checkParts(parts);
  return value as MovingSession;
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

export function asHeaders(value: unknown): ResponseHeaders {
  return fieldsOf(value) as ResponseHeaders;
}
