// Reads /api/overview again and again: every two seconds, more seldom while it fails, and not at all in a hidden tab.

const INTERVAL_MS = 2_000;
const TIMEOUT_MS = 8_000;
const MAX_DELAY_MS = 30_000;

/** The server does not let this page read on: the password or the server has changed. */
const isFinal = (status) => status >= 400 && status < 500 && status !== 429;

/** Events: `overview` with the answer as its `detail`, and `failed` with `{ text, retryAt }`. */
export class Poller extends EventTarget {
  #timer = 0;
  #failures = 0;
  #running = undefined;

  start() {
    document.addEventListener('visibilitychange', () => this.now());
    addEventListener('online', () => this.now());
    this.now();
  }

  /** Reads at once, unless the tab is hidden. */
  now() {
    clearTimeout(this.#timer);
    this.#running?.abort();
    this.#running = undefined;
    if (document.visibilityState === 'visible') void this.#read();
  }

  async #read() {
    const running = new AbortController();
    this.#running = running;
    try {
      const signal = AbortSignal.any([running.signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const response = await fetch('../api/overview', { signal, cache: 'no-store' });
      if (!response.ok) throw new Error(textOf(response.status), { cause: response.status });
      const overview = await response.json();
      if (running.signal.aborted) return;
      this.#failures = 0;
      this.#announce('overview', overview);
      this.#next(INTERVAL_MS);
    } catch (error) {
      if (running.signal.aborted) return;
      this.#failures += 1;
      const delay = Math.min(MAX_DELAY_MS, 1000 * 2 ** (this.#failures - 1));
      const known = typeof error.cause === 'number';
      const text = known ? error.message : 'The server cannot be reached.';
      this.#announce('failed', { text, retryAt: Date.now() + delay, isFinal: known && isFinal(error.cause) });
      this.#next(delay);
    }
  }

  #next(delay) {
    this.#timer = setTimeout(() => this.now(), delay);
  }

  #announce(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

function textOf(status) {
  if (status === 401) return 'The server asks for another password. Reload this page to sign in.';
  return `The server answered with status ${status}.`;
}
