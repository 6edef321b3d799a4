import type { Session } from './session.js';

let current: Session | undefined;

/** Announces a session to the application. */
export function announce(session: Session, host: { emit(event: string, session: Session): boolean }): void {
  current = session;
  try {
    host.emit('connection', session);
  } finally {
    current = undefined;
  }
}

/**
 * The session that is being announced. socket.io creates the decoder of a client meanwhile, and does not pass the session
 * on to it.
 */
export function announcedSession(): Session | undefined {
  return current;
}
