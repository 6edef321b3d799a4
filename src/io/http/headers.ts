import { isAllowedOrigin } from '../../engine/limits/origin.js';
/** Headers by name, sent with every response of a kind. */
export type Headers = Readonly<Record<string, string>>;

/** One year, the minimum for the HSTS preload list of browsers. */
const HSTS = 'max-age=31536000';

/** For all responses: no guessing of content types, and no referrer. With TLS, browsers must not return to HTTP. */
function common(secure: boolean): Headers {
  return {
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    ...(secure ? { 'Strict-Transport-Security': HSTS } : {}),
  };
}

/** For pages and their files: a page loads only files of this server, has no inline code, and cannot be framed. */
export function pageHeaders(secure: boolean): Headers {
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self'",
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    'require-trusted-types-for': "'script'",
  };
  return {
    ...common(secure),
    'Content-Security-Policy': Object.entries(policy)
      .map((directive) => directive.join(' '))
      .join('; '),
    // For browsers that do not support frame-ancestors.
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  };
}

/** For data: it loads nothing, cannot be framed, and is not cached. */
export function dataHeaders(secure: boolean): Headers {
  return {
    ...common(secure),
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  };
}

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
