import { thisProcess } from '../../base/process.js';
import { systemClock } from '../clock.js';
import type { HeldBytes } from '../delivery/held-bytes.js';
import type { AddressLimits } from '../limits/address-limits.js';
import { isExpectedHost } from '../limits/origin.js';
import { RequestGuard } from '../limits/request-guard.js';
import type { EngineSettings } from '../options.js';
import type { Answer, HttpExchange } from './exchange.js';
import type { EngineRequest } from './request.js';

/** The limits that all HTTP requests share. */
export interface HttpHost {
  readonly settings: Pick<EngineSettings, 'trustProxy' | 'allowedHosts' | 'keepAlive'>;
  readonly requestGuard: RequestGuard;
  /** Counts the bodies of which a part is missing. */
  readonly incoming?: HeldBytes;
  /** Counts the responses that their clients have not read. */
  readonly outgoing?: HeldBytes;
  /** Limits the waiting requests of one address; undefined without limits. */
  readonly addresses: AddressLimits | undefined;
  /** Called with a request whose connection was closed because it had pipelined others, in a turn with too many. */
  readonly onFlood?: ((request: EngineRequest) => void) | undefined;
}

/** What an exchange needs of its host. */
export type ExchangeHost = Pick<HttpHost, 'incoming' | 'outgoing' | 'settings'>;

/** The host of requests that belong to no engine. */
export const hostOfOthers = (): HttpHost => ({
  settings: { trustProxy: 0, allowedHosts: undefined, keepAlive: 'auto' },
  requestGuard: new RequestGuard(systemClock),
  addresses: undefined,
});

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
  host: HttpHost,
  handle: (exchange: Exchange) => unknown,
  isForAnyHost = false,
): void {
  const { requestGuard } = host;
  const { request } = exchange;
  if (!requestGuard.enter(request.connection.remoteAddress)) {
    const onFlood = () => host.onFlood?.(request);
    return requestGuard.postpone(exchange, () => handleNow(exchange, host, handle, isForAnyHost), onFlood);
  }
  try {
    handleNow(exchange, host, handle, isForAnyHost);
  } finally {
    requestGuard.leave();
  }
}

function handleNow<Exchange extends HttpExchange>(
  exchange: Exchange,
  host: HttpHost,
  handle: (exchange: Exchange) => unknown,
  isForAnyHost: boolean,
): void {
  const { settings, addresses } = host;
  const { request } = exchange;
  const refuse = (code: string, answer: Answer) => {
    thisProcess.reports.rejected(code, request);
    exchange.send(...answer);
  };
  if (!isForAnyHost && !isExpectedHost(request, settings)) return refuse('HOST_FORBIDDEN', misdirected);
  if (addresses && !addresses.enterRequest(exchange, request.connection.remoteAddress)) {
    return refuse('TOO_MANY_REQUESTS', tooManyRequests);
  }
  handle(exchange);
}
