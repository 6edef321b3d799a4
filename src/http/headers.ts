/** Headers by name, sent with every answer of a kind. */
export type Headers = Readonly<Record<string, string>>;

/** A year: what browsers ask for before they take a host for one of TLS alone. */
const HSTS = 'max-age=31536000';

/** For everything: content is what it says it is, and nobody is told who asks. Under TLS, never again without it. */
function common(secure: boolean): Headers {
  return {
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    ...(secure ? { 'Strict-Transport-Security': HSTS } : {}),
  };
}

/** For pages and their files: a page loads what is this server's own, without inline code, and stands in no frame. */
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
    // For browsers that do not know frame-ancestors.
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  };
}

/** For data, which is no page: nothing may be loaded or framed, and it is not for keeping. */
export function dataHeaders(secure: boolean): Headers {
  return {
    ...common(secure),
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  };
}
