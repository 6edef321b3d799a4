import type { MovingSession } from '../../engine/session/pending-sessions.js';
import { asMovedSession } from './checks.js';
import { decodeBody, encodeBody, type MovedSession } from './messages.js';

/** A session as it moves between workers. */
export function encodeSession({ id, parts, early }: MovingSession): Buffer {
  const moved: MovedSession = {
    id,
    parts,
    early: early.map((data) => (typeof data === 'string' ? { text: data } : { base64: data.toString('base64') })),
  };
  return encodeBody(moved);
}

/** @throws MalformedMessage */
export function decodeSession(body: Buffer): MovingSession {
  const { id, parts, early } = decodeBody(body, asMovedSession).value;
  return { id, parts, early: early.map((data) => ('text' in data ? data.text : Buffer.from(data.base64, 'base64'))) };
}
