import { once } from 'node:events';
import type { Session } from '../../../src/engine/session/session.js';

/** Sends as fast as the client takes it, with at most so many bytes waiting. Returns how often it had to wait. */
export async function pacedSend(session: Session, count: number, bytes: number): Promise<number> {
  let waits = 0;
  for (let number = 0; number < count; number++) {
    session.send(`${number} ${'x'.repeat(1000)}`);
    while (session.bufferedAmount > bytes) {
      waits++;
      await once(session, 'drain');
    }
  }
  return waits;
}
