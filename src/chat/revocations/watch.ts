import type { RevocationStore } from '../../accounts/revocation-store.js';
import { RevokedTokens } from '../../accounts/revocations.js';
import { own, owned } from '../../base/owner.js';
import { Outage } from '../../history/outage.js';
import { LostList, type LostListReports } from './lost-list.js';

/** How often the store is read, in ms, in case the announcement of a change was lost. */
const INTERVAL_MS = 15_000;
/** The same before the list was read for the first time. */
const FIRST_INTERVAL_MS = 200;
/** How long the first read may fail, because Redis is being connected, before that is reported, in ms. */
const GRACE_MS = 2000;

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
  reports: LostListReports,
  { onChange, announce }: RevocationListeners,
): WatchedRevocations {
  const lost = new LostList(reports);
  const tokens = new RevokedTokens(store, {
    onChange,
    onEmpty: announce,
    onLoss: (records) => lost.found(records),
    onRestored: (byThis) => {
      lost.restored();
      if (byThis) announce();
    },
  });
  const outage = new Outage(reports, {
    problemFor: () => {
      if (!tokens.isKnown) return 'the revoked tokens cannot be read: no token is accepted';
      if (tokens.isBehind) {
        return 'the revoked tokens cannot be written: workers that start now accept tokens that were revoked';
      }
      return 'the revoked tokens cannot be read: tokens that are revoked now stay valid here';
    },
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
      lost.close();
    },
  };
}
