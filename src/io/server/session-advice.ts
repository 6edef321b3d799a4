import type { ServerOptions } from 'socket.io';
import { thisProcess } from '../../base/process.js';

/** Adapters of socket.io that join nothing. */
const local = ['Adapter', 'SessionAwareAdapter'];

const IN_THE_LIBRARY =
  'The application sets an adapter. It joins rooms, not sessions: if several processes serve the clients, one on polling ' +
  'gets "Session ID unknown" from a process that does not have its session. Use sticky sessions, WebSocket as the only ' +
  'transport, or npx gjallar run with REDIS_URL, which needs neither. See docs/move.md of gjallar.';

const IN_A_WORKER =
  'the application sets an adapter, which joins the rooms of several machines, but not their sessions; set REDIS_URL or ' +
  'NATS_URL, or use sticky sessions between machines, so that clients on polling get no "Session ID unknown"';

declare module '../../base/process.js' {
  interface ProcessHost {
    /** Gives the advice to a log instead of Node.js. */
    onSessionAdvice?: (advice: string) => void;
  }
}

let isGiven = false;

/** Says once what an application with an adapter of its own needs on several processes. */
export function adviseOnSessions(adapter: object, { transports }: Partial<ServerOptions>): void {
  const { name } = adapter as { name?: string };
  const hasPolling = !transports || transports.includes('polling');
  if (isGiven || !hasPolling || local.includes(name ?? '')) return;
  isGiven = true;
  const { onSessionAdvice } = thisProcess;
  if (onSessionAdvice) onSessionAdvice(IN_A_WORKER);
  else process.emitWarning(IN_THE_LIBRARY, { type: 'GjallarNotice', code: 'GJALLAR_SESSIONS' });
}
