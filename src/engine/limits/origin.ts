import type { EngineRequest } from '../http/request.js';

/** Whether a request addresses the server by one of its own names. */
export function isExpectedHost(
  { headers }: EngineRequest,
  { allowedHosts, trustProxy }: { allowedHosts: readonly string[] | undefined; trustProxy: number },
): boolean {
  if (!allowedHosts) return true;
  const host = (trustProxy > 0 ? headers['x-forwarded-host'] : undefined) ?? headers.host ?? '';
  return allowedHosts.includes(host.toLowerCase().replace(/:\d+$/, ''));
}

/** Whether a list of origins names this one. `*` stands for all, and `https://*.example.com` for all subdomains. */
export function isAllowedOrigin(origin: string, allowed: readonly string[]): boolean {
  return allowed.some((one) => {
    if (one === '*' || one === origin) return true;
    const [scheme, domain] = one.split('://*');
    return (
      domain !== undefined && origin.startsWith(`${scheme}://`) && isBelow(origin.slice(scheme!.length + 3), domain)
    );
  });
}

/** Whether a host, with its port if it has one, is a name followed by `.domain`. */
function isBelow(host: string, domain: string): boolean {
  return host.endsWith(domain) && /^[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(host.slice(0, -domain.length));
}

/**
 * Whether a browser sends the request for a page of a foreign origin that is not in the list. CORS keeps such a page
 * from reading responses, but not from opening a WebSocket in the name of its visitor. Programs send no `Origin`.
 * @param isProxied whether the proxies' headers about the host are trusted
 */
export function isForeign(request: EngineRequest, allowed: readonly string[], isProxied: boolean): boolean {
  const { origin, host, 'x-forwarded-host': forwardedHost } = request.headers;
  if (origin === undefined || isAllowedOrigin(origin, allowed)) return false;
  // A value that is not of the form scheme://host, such as `null`, has no host.
  const own = /^[a-z][a-z0-9+.-]*:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
  if (own === undefined) return true;
  return own !== host?.toLowerCase() && !(isProxied && own === forwardedHost?.toLowerCase());
}

/**
 * Whether a browser sends the request for a page of another origin, and says so although it names no origin: with a link,
 * an image or a form. Programs send no `Sec-Fetch-Site`, and neither do browsers from before 2023.
 */
export function isCrossSite(headers: { readonly [name: string]: string | string[] | undefined }): boolean {
  const site = headers['sec-fetch-site'];
  return headers.origin === undefined && site !== undefined && site !== 'same-origin' && site !== 'none';
}
