import type { HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { announceConnection, classesOf, createMessage } from '../../compat/node-http.js';
import { addConnections } from '../../compat/node-net.js';
import { addressOf } from '../../engine/http/request.js';
import { webSocketClosed } from '../../engine/uws/routes.js';
import type { HttpBridge } from '../http/http-bridge.js';
import { copyRequest } from '../http/raw-request.js';
import { opcodes } from './frames.js';
import { type BridgedData, UpgradeSocket } from './upgrade-socket.js';

/** The longest message of a client, in bytes: as in `ws`. */
const MAX_PAYLOAD_BYTES = 100 << 20;
const EMPTY = Buffer.alloc(0);

/** Passes WebSocket upgrades that are not for the engine to the `upgrade` listeners of an http.Server. */
export class WebSocketBridge {
  private open = 0;

  /** @param onIdle called whenever the last WebSocket has ended */
  constructor(
    private readonly server: Server,
    private readonly http: HttpBridge,
    private readonly local: AddressInfo,
    private readonly onIdle: () => void,
  ) {}

  /** Whether no WebSocket is open. */
  get isIdle(): boolean {
    return this.open === 0;
  }

  attach(app: TemplatedApp): void {
    app.ws<BridgedData>('/*', {
      maxPayloadLength: MAX_PAYLOAD_BYTES,
      maxBackpressure: 0,
      // The library has heartbeats of its own.
      idleTimeout: 0,
      sendPingsAutomatically: false,
      compression: 0,
      upgrade: (res, req, context) => this.onUpgrade(res, req, context),
      open: (ws) => linkOf(ws).onOpen(ws),
      message: (ws, data, isBinary) => linkOf(ws).onFrame(isBinary ? opcodes.binary : opcodes.text, data),
      pong: (ws, data) => linkOf(ws).onFrame(opcodes.pong, data),
      drain: (ws) => linkOf(ws).onDrain(),
      close: (ws, code, reason) => {
        webSocketClosed(app);
        linkOf(ws).onClose(code, reason);
      },
    });
  }

  private onUpgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const { server } = this;
    // As in node:http: without a listener, it is an ordinary request.
    if (server.listenerCount('upgrade') === 0) return this.http.handle(res, req);
    const request = copyRequest(req);
    const rawHeaders = withoutExtensions(request.rawHeaders);
    const ends = { server, remoteAddress: addressOf(res), local: this.local };
    const socket = new UpgradeSocket(ends, res, req.getHeader('sec-websocket-key'), context);
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
