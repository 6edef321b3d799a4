import type { Namespace } from 'socket.io';
import type { Adapter, Session } from 'socket.io-adapter';
import { machineTime } from '../../base/clock.js';
import { GjallarError } from '../../base/errors.js';
import { type AnyNamespace, type AnyServer, namespaceOf } from '../../io/any.js';
import { recoverySettingsOf, wantsRecovery } from '../../io/socket-io.private.js';
import { type ExpiredSession, Expiries, type ExpiryListener } from './keeper/expiries.js';
import { listenToExpiries } from './recovery.js';

export type { ExpiredSession };

/** How often sessions are looked through that one process keeps alone, in ms, unless they are kept for less time. */
const SWEEP_INTERVAL_MS = 5000;
/** Nor more often than this, in ms. */
const MIN_SWEEP_INTERVAL_MS = 500;
/** The same bound as with several workers. */
const MAX_SESSIONS = 100_000;

/** See `onSessionExpired()` of the library. */
export function watchExpiries(of: AnyServer | AnyNamespace, listener: ExpiryListener): () => void {
  const nsp = namespaceOf(of);
  if (!wantsRecovery(nsp)) {
    throw new GjallarError('BAD_INPUT', 'No session can be recovered. Set the option connectionStateRecovery.');
  }
  return listenToExpiries(nsp.adapter, listener) ?? alone(nsp).listen(listener);
}

/** What Socket.IO itself keeps of a session. */
type OwnSession = Session & { readonly pid: string; readonly rooms: string[]; readonly disconnectedAt: number };

/** The sessions that one process keeps alone, and who hears of their ends. */
class OwnExpiries extends Expiries<OwnSession> {
  private readonly listeners = new Set<ExpiryListener>();

  listen(listener: ExpiryListener): () => void {
    this.listeners.add(listener);
    this.report = (session) => {
      for (const one of this.listeners) one(session);
    };
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.report = undefined;
    };
  }
}

const known = new WeakMap<Adapter, OwnExpiries>();

/** Socket.IO itself keeps the sessions of a process that has no other workers. */
function alone(nsp: Namespace): OwnExpiries {
  const { adapter } = nsp;
  const watched = known.get(adapter);
  if (watched) return watched;
  const { persistSession } = adapter;
  const { durationMs } = recoverySettingsOf(nsp);
  const limits = { durationMs: () => recoverySettingsOf(nsp).durationMs, maxSessions: () => MAX_SESSIONS };
  const expiries = new OwnExpiries(limits);
  known.set(adapter, expiries);
  adapter.persistSession = (session: Session & { pid: string }) => {
    persistSession.call(adapter, session);
    expiries.add({ ...session, disconnectedAt: machineTime() });
  };
  // A middleware may still reject a client whose session was restored.
  nsp.on('connection', (socket) => {
    if (socket.recovered) expiries.forget((socket as unknown as { pid: string }).pid);
  });
  sweep(new WeakRef(expiries), Math.min(SWEEP_INTERVAL_MS, Math.max(durationMs, MIN_SWEEP_INTERVAL_MS)));
  return expiries;
}

/** The timer does not hold the sessions of a namespace that is gone. */
function sweep(ref: WeakRef<OwnExpiries>, everyMs: number): void {
  const timer = setInterval(() => {
    const expiries = ref.deref();
    if (expiries) expiries.sweep();
    else clearInterval(timer);
  }, everyMs).unref();
}
