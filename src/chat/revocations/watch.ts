import type { RevocationStore } from '../../accounts/revocation-store.js';
import { RevokedTokens } from '../../accounts/revocations.js';
import { CheckedOutage, Outage } from '../../base/outage.js';
import { own, owned } from '../../base/owner.js';
import type { Reason } from '../../base/problems.js';
import { host } from '../../base/process.js';

/** How often the store is read, in ms, in case the announcement of a change was lost. */
const INTERVAL_MS = 15_000;
/** The same before the list was read for the first time. */
const FIRST_INTERVAL_MS = 200;
/** How long the first read may fail, because Redis is being connected, before that is reported, in ms. */
const GRACE_MS = 2000;
/** How long a loss stays among the problems, in ms: the store works, but the operator must look. */
const SHOWN_MS = 3_600_000;
const LOST: Reason = {
  code: 'REVOCATIONS_LOST',
  text: 'the list of revoked tokens was lost: workers write it back, and revocations of the last 15 s may be missing',
};

/** Keeps a worker's list of revoked tokens up to date. */
export interface WatchedRevocations {
  readonly tokens: RevokedTokens;
  /** Reads the list, because another worker has changed it. */
  refresh(): void;
  close(): void;
}

export interface RevocationListeners {
  /** Called after each read. */
  onChange(): void;
  /** Makes the workers of all machines read the list. */
  announce(): void;
}

/**
 * While the list cannot be read, the worker uses the one that it has read last. Before it has read any, it accepts no token.
 */
export function watchRevocations(
  store: RevocationStore,
  { onChange, announce }: RevocationListeners,
): WatchedRevocations {
  const lost = new Outage();
  let shown: NodeJS.Timeout | undefined;
  const tokens = new RevokedTokens(store, {
    onChange,
    onEmpty: announce,
    onLoss: (missing) => {
      clearTimeout(shown);
      lost.close();
      lost.begin(LOST, { missing });
      shown = setTimeout(() => lost.end(), SHOWN_MS).unref();
    },
    onRestored: (byThis) => {
      host.reports.log.info({}, 'the list of revoked tokens is complete again');
      if (byThis) announce();
    },
  });
  const outage = new CheckedOutage({
    reasonFor: () => ({ code: 'REVOCATIONS_UNAVAILABLE', text: effectOf(tokens) }),
    check: () => tokens.read(),
  });
  const startedAt = performance.now();
  let isClosed = false;
  const read = () =>
    tokens.read().catch((error) => {
      const isStarting = !tokens.isKnown && performance.now() - startedAt < GRACE_MS;
      if (!isStarting && !isClosed) outage.failed(error);
    });
  let timer: NodeJS.Timeout | undefined;
  const watch = async () => {
    await read();
    if (!isClosed) timer = setTimeout(watchNow, tokens.isKnown ? INTERVAL_MS : FIRST_INTERVAL_MS).unref();
  };
  const watchNow = owned('reading the revoked tokens', watch);
  watchNow();
  const refresh = () => {
    if (!isClosed) own('reading the revoked tokens', read());
  };
  store.onReturn?.(refresh);
  return {
    tokens,
    refresh,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      outage.close();
      clearTimeout(shown);
      lost.close();
    },
  };
}

function effectOf({ isKnown, isBehind }: RevokedTokens): string {
  if (!isKnown) return 'the revoked tokens cannot be read: no token is accepted';
  if (isBehind) return 'the revoked tokens cannot be written: workers that start now accept tokens that were revoked';
  return 'the revoked tokens cannot be read: tokens that are revoked now stay valid here';
}
