import { isAllowedOrigin } from '../../engine/limits/origin.js';
import type { Headers } from './headers.js';

/** Decides which responses pages of other origins may read: CORS, as the Fetch standard describes it. */
export class Cors {
  private readonly all: boolean;

  /** @param origins the allowed origins, `*` for all; undefined for none */
  constructor(private readonly origins: readonly string[] | undefined) {
    this.all = origins?.includes('*') ?? false;
  }

  /** The headers of a response to a request with this `Origin` header. */
  headersFor(origin: string | undefined): Headers {
    if (!this.origins) return {};
    if (this.all) return { 'Access-Control-Allow-Origin': '*' };
    const isAllowed = origin !== undefined && isAllowedOrigin(origin, this.origins);
    return { Vary: 'Origin', ...(isAllowed ? { 'Access-Control-Allow-Origin': origin } : {}) };
  }

  /** The headers of the response to a preflight. A browser sends one before a request that no form could send. */
  preflight(origin: string | undefined, methods: readonly string[]): Headers | undefined {
    const headers = this.headersFor(origin);
    if (!headers['Access-Control-Allow-Origin']) return undefined;
    return {
      ...headers,
      'Access-Control-Allow-Methods': methods.join(', '),
      'Access-Control-Allow-Headers': 'Authorization, Content-Type, Idempotency-Key',
      'Access-Control-Max-Age': '600',
    };
  }
}
