import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { announceConnection, classesOf, createMessage } from '../../compat/node-http.js';
import { addConnections } from '../../compat/node-net.js';
import type { Buffers } from '../../engine/delivery/held-bytes.js';
import { addressOf } from '../../engine/http/request.js';
import { webSocketClosed } from '../../engine/uws/routes.js';
import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from '../../sockets.js';
import type { HttpBridge } from '../http/http-bridge.js';
import { copyRequest, isMalformed } from '../http/raw-request.js';
import { opcodes } from './frames.js';
import { PayloadLimits } from './payload-limits.js';
import { type BridgedData, UpgradeSocket } from './upgrade-socket.js';

const EMPTY = Buffer.alloc(0);

/** Passes WebSocket upgrades that are not for the engine to the `upgrade` listeners of an http.Server. */
export class WebSocketBridge {
  private open = 0;
  private app: TemplatedApp | undefined;
  private readonly behavior: WebSocketBehavior<BridgedData> = {
    maxBackpressure: 0,
    // The library has heartbeats of its own.
    idleTimeout: 0,
    sendPingsAutomatically: false,
    compression: 0,
    open: (ws) => linkOf(ws).onOpen(ws),
    message: (ws, data, isBinary) => linkOf(ws).onFrame(isBinary ? opcodes.binary : opcodes.text, data),
    pong: (ws, data) => linkOf(ws).onFrame(opcodes.pong, data),
    drain: (ws) => linkOf(ws).onDrain(),
    close: (ws, code, reason) => {
      webSocketClosed(this.app!);
      linkOf(ws).onClose(code, reason);
    },
  };
  private readonly limits: PayloadLimits<BridgedData>;

  /**
   * @param onIdle called whenever the last WebSocket has ended
   * @param incoming counts what has arrived, and was not read by the application
   * @param maxPayload the most bytes that a message may have; undefined if the application's library decides
   */
  constructor(
    private readonly server: Server,
    private readonly http: HttpBridge,
    private readonly local: AddressInfo,
    private readonly onIdle: () => void,
    private readonly buffers: () => Buffers,
    maxPayload: number | undefined,
  ) {
    this.limits = new PayloadLimits(maxPayload, this.behavior);
  }

  /** Whether no WebSocket is open. */
  get isIdle(): boolean {
    return this.open === 0;
  }

  attach(app: TemplatedApp): void {
    this.app = app;
    app.ws<BridgedData>('/*', {
      ...this.behavior,
      maxPayloadLength: this.limits.largest,
      upgrade: (res, req, context) => this.onUpgrade(res, req, context),
    });
  }

  private onUpgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const { server } = this;
    // The connection becomes a WebSocket or ends.
    const request = copyRequest(req, 'off');
    // As in node:http: without a listener, it is an ordinary request. Bytes that follow a body would be served as a request.
    const isOrdinary = server.listenerCount('upgrade') === 0 || request.framing !== 'none' || isMalformed(request);
    if (isOrdinary) return this.http.handle(res, req);
    const rawHeaders = withoutExtensions(request.rawHeaders);
    const ends = { server, remoteAddress: addressOf(res), local: this.local };
    const socket = new UpgradeSocket(
      ends,
      res,
      req.getHeader('sec-websocket-key'),
      context,
      this.limits,
      this.buffers(),
    );
    const { Message } = classesOf(server);
    const message = createMessage(Message, server, socket as unknown as Socket, { ...request, rawHeaders });
    (message as { upgrade?: boolean }).upgrade = true;
    message.complete = true;
    message.push(null);
    this.track(socket);
    announceConnection(server, socket as unknown as Socket);
    server.emit('upgrade', message, socket, EMPTY);
    socket.becomeLate();
  }

  private track(socket: UpgradeSocket): void {
    this.open++;
    addConnections(this.server, 1);
    socket.once('close', () => {
      this.open--;
      addConnections(this.server, -1);
      if (this.open === 0) this.onIdle();
    });
  }
}

/** The application must not compress, because uWebSockets.js does not pass compressed frames through. */
function withoutExtensions(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_text, index) => rawHeaders[index - (index % 2)] !== 'sec-websocket-extensions');
}

function linkOf(ws: WebSocket<BridgedData>): UpgradeSocket {
  return (ws as unknown as BridgedData).link;
}
