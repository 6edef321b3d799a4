import { CheckedOutage, Outage } from '../../../base/outage.js';
import { own } from '../../../base/owner.js';
import type { Reason } from '../../../base/problems.js';
import { thisProcess } from '../../../base/process.js';
import { type RevocationStore, RevokedTokens } from '../../accounts/revocations.js';

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

/**
 * Keeps a worker's list of revoked tokens up to date. While the store cannot be read, the worker uses the list that it has
 * read last. Before it has read any, it accepts no token.
 */
export class WatchedRevocations {
  readonly tokens: RevokedTokens;
  private readonly lost = new Outage();
  private readonly outage: CheckedOutage;
  private readonly startedAt = performance.now();
  private shown: NodeJS.Timeout | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  /**
   * @param onChange called after each read
   * @param announce makes the workers of all machines read the list
   */
  constructor(store: RevocationStore, onChange: () => void, announce: () => void) {
    this.tokens = new RevokedTokens(store, {
      onChange,
      onEmpty: announce,
      onLoss: (missing) => {
        clearTimeout(this.shown);
        this.lost.close();
        this.lost.begin(LOST, { missing });
        this.shown = setTimeout(() => this.lost.end(), SHOWN_MS).unref();
      },
      onRestored: (byThis) => {
        thisProcess.reports.log.info({}, 'the list of revoked tokens is complete again');
        if (byThis) announce();
      },
    });
    this.outage = new CheckedOutage({
      reasonFor: () => ({ code: 'REVOCATIONS_UNAVAILABLE', text: effectOf(this.tokens) }),
      check: () => this.tokens.read(),
    });
    store.onReturn?.(() => this.refresh());
    this.refresh();
  }

  /** Reads the list, because another worker may have changed it. */
  refresh(): void {
    clearTimeout(this.timer);
    if (!this.isClosed) own('reading the revoked tokens', this.read());
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    clearTimeout(this.shown);
    this.outage.close();
    this.lost.close();
  }

  private async read(): Promise<void> {
    await this.tokens.read().catch((error) => {
      const isStarting = !this.tokens.isKnown && performance.now() - this.startedAt < GRACE_MS;
      if (!isStarting && !this.isClosed) this.outage.failed(error);
    });
    clearTimeout(this.timer);
    if (this.isClosed) return;
    this.timer = setTimeout(() => this.refresh(), this.tokens.isKnown ? INTERVAL_MS : FIRST_INTERVAL_MS).unref();
  }
}

function effectOf({ isKnown, isBehind }: RevokedTokens): string {
  if (!isKnown) return 'the revoked tokens cannot be read: no token is accepted';
  if (isBehind) return 'the revoked tokens cannot be written: workers that start now accept tokens that were revoked';
  return 'the revoked tokens cannot be read: tokens that are revoked now stay valid here';
}
