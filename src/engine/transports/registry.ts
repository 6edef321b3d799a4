import type { Closing } from '../delivery/closing.js';
import type { Outbox } from '../delivery/outbox.js';
import { RecentStrings } from '../delivery/recent-strings.js';
import type { EngineRequest } from '../http/request.js';
import type { HeaderMaker } from '../http/response-headers.js';
import type { EngineSettings } from '../options.js';
import { type PollingSettings, PollingTransport } from './polling.js';
import { nobody, type Protocol } from './transport.js';
import { type WebSocketSettings, WebSocketTransport } from './websocket.js';

/** Makes the transports of one engine, for those who ask for them. */
export class TransportMaker {
  private readonly pollingSettings: PollingSettings;
  private readonly webSocketSettings: WebSocketSettings;

  constructor(settings: EngineSettings, outbox: Outbox, closing: Closing, headers: HeaderMaker) {
    this.webSocketSettings = {
      outbox,
      closing,
      recent: new RecentStrings(),
      compressFrom: settings.perMessageDeflate?.threshold,
    };
    this.pollingSettings = {
      httpCompression: settings.httpCompression,
      addHeaders: (added, exchange, sid) => headers.addTo(added, exchange.request, sid),
    };
  }

  polling(request: EngineRequest): PollingTransport {
    return new PollingTransport(nobody, protocolOf(request), supportsBinary(request), this.pollingSettings);
  }

  webSocket(request: EngineRequest, protocol = protocolOf(request)): WebSocketTransport {
    return new WebSocketTransport(nobody, protocol, supportsBinary(request), this.webSocketSettings);
  }
}

/** The revision of the protocol that a client asks for. */
export function protocolOf(request: EngineRequest): Protocol {
  return request._query.EIO === '4' ? 4 : 3;
}

/** Clients that cannot read binary say so with the parameter `b64`. */
function supportsBinary(request: EngineRequest): boolean {
  return !request._query.b64;
}
