import { closesIdleConnections } from '../uws/uws.js';

/**
 * Which connections of HTTP requests stay open for further requests: `auto` closes those of proxies if the sockets would
 * close them anyway once they are idle, `on` closes none, and `off` closes all.
 */
export type KeepAlive = 'auto' | 'on' | 'off';

/** Headers that proxies and load balancers add to requests. A browser sends none of them. */
const HEADERS_OF_PROXIES = [
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-amzn-trace-id',
  'via',
  'forwarded',
  'x-real-ip',
] as const;

export function comesThroughProxy(headers: Readonly<Record<string, string | undefined>>): boolean {
  for (const name of HEADERS_OF_PROXIES) if (headers[name] !== undefined) return true;
  return false;
}

/**
 * Whether the response to a request must end its connection. uWebSockets.js closes a connection 10 s after its last
 * response. A proxy that keeps it for longer may send a request in that moment, and would answer its client with a 502.
 * Browsers and other clients send such a request again.
 */
export function endsConnection(keepAlive: KeepAlive, isProxied: boolean): boolean {
  return keepAlive === 'auto' ? isProxied && closesIdleConnections : keepAlive === 'off';
}
