import type { AddressLimits } from '../limits/address-limits.js';
import { isExpectedHost } from '../limits/origin.js';
import type { RequestGuard } from '../limits/request-guard.js';
import type { HttpExchange, ResponseHeaders } from './exchange.js';

/** The limits that all HTTP requests share. */
export interface HttpHost {
  readonly settings: { readonly trustProxy: number; readonly allowedHosts: readonly string[] | undefined };
  readonly requestGuard: RequestGuard;
  /** Limits the waiting requests of one address; undefined without limits. */
  readonly addresses: AddressLimits | undefined;
}

type Answer = [status: number, headers: ResponseHeaders, body: string];
const misdirected: Answer = [
  421,
  {},
  'This server does not answer to this host name. Use one of the names in ALLOWED_HOSTS.',
];
const tooManyRequests: Answer = [
  429,
  {},
  'Too many requests from this IP address are waiting for their responses. Wait before you send another.',
];

/**
 * Handles a request within the limits.
 * @param isForAnyHost whether requests with any `Host` header are answered
 */
export function handleRequest<Exchange extends HttpExchange>(
  exchange: Exchange,
  { requestGuard, settings, addresses }: HttpHost,
  handle: (exchange: Exchange) => unknown,
  isForAnyHost = false,
): void {
  const { request } = exchange;
  const address = request.connection.remoteAddress;
  if (!requestGuard.enter(address)) return exchange.destroy();
  if (!isForAnyHost && !isExpectedHost(request, settings)) return exchange.send(...misdirected);
  if (addresses && !addresses.enterRequest(exchange, address)) return exchange.send(...tooManyRequests);
  try {
    handle(exchange);
  } finally {
    requestGuard.leave();
  }
}
