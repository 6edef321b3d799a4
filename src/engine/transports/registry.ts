import type { Closing } from '../delivery/closing.js';
import type { Outbox } from '../delivery/outbox.js';
import { RecentStrings } from '../delivery/recent-strings.js';
import type { EngineRequest } from '../http/request.js';
import type { HeaderMaker } from '../http/response-headers.js';
import type { FrameGuard } from '../limits/frame-guard.js';
import type { EngineSettings } from '../options.js';
import { type PollingSettings, PollingTransport } from './polling.js';
import { nobody, type Protocol, type TransportName } from './transport.js';
import { type WebSocketSettings, WebSocketTransport } from './websocket.js';

/** Whether each transport starts with a request for a WebSocket instead of a plain one. */
export const startsWithUpgrade: Readonly<Record<TransportName, boolean>> = { polling: false, websocket: true };

/** The transports to which a client may upgrade from each one. Source: Engine.IO v4, "Upgrade". */
export const upgradesOf: Readonly<Record<TransportName, readonly TransportName[]>> = {
  polling: ['websocket'],
  websocket: [],
};

/** Creates the transports of one engine. */
export class TransportRegistry {
  private readonly pollingSettings: PollingSettings;
  private readonly webSocketSettings: WebSocketSettings;

  constructor(
    settings: EngineSettings,
    { outbox, closing, frameGuard }: { outbox: Outbox; closing: Closing; frameGuard: FrameGuard },
    headers: HeaderMaker,
  ) {
    this.webSocketSettings = {
      outbox,
      closing,
      recent: new RecentStrings(),
      compressFrom: settings.perMessageDeflate?.threshold,
    };
    this.pollingSettings = {
      frameGuard,
      outbox,
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

/** The revision of the protocol that a client requests. */
export function protocolOf(request: EngineRequest): Protocol {
  return request._query.EIO === '4' ? 4 : 3;
}

/** A client that cannot read binary data sends the parameter `b64`. */
function supportsBinary(request: EngineRequest): boolean {
  return !request._query.b64;
}
