import type { IncomingMessage } from 'node:http';
import { type Server, WebSocketServer } from 'ws';
import type { HttpRequest, HttpResponse, us_socket_context_t, WebSocketBehavior } from '../../sockets.js';
import { isBehind } from '../behind.js';
import type { UpgradeRequest } from '../http/upgrade.js';
import { InnerWebSocket } from './inner.js';
import type { Topics } from './topics.js';
import { PortableWebSocket, type WebSocketHost } from './web-socket.js';
import type { Writer } from './writer.js';

/** Bytes of a message, where a route sets no limit. */
const DEFAULT_MAX_PAYLOAD = 16_384;
const DEFAULT_IDLE_SECONDS = 120;
/** A message may have 256 fragments and 256 reads, and one more for each of these numbers of bytes that it may have. */
const MIN_PARTS = 256;
const BYTES_OF_FRAGMENT = 1024;
const BYTES_OF_CHUNK = 512;
const CONTEXT: us_socket_context_t = {};
/** No message depends on an earlier one, so that a broadcast is compressed once. */
const WITHOUT_CONTEXT = { serverNoContextTakeover: true, clientNoContextTakeover: true, serverMaxWindowBits: false };

/** The WebSockets of one pattern. */
export class WebSocketRoute implements WebSocketHost<unknown> {
  readonly sockets = new Set<PortableWebSocket>();
  private readonly server: Server<typeof InnerWebSocket>;
  private headers: readonly string[] = [];
  private protocol = '';

  constructor(
    readonly behavior: WebSocketBehavior<unknown>,
    readonly topics: Topics,
    readonly writer: Writer,
  ) {
    const { maxPayloadLength = DEFAULT_MAX_PAYLOAD, compression = 0 } = behavior;
    this.server = new WebSocketServer<typeof InnerWebSocket, typeof IncomingMessage>({
      noServer: true,
      clientTracking: false,
      // This one's pongs know the limit for bytes that wait.
      autoPong: false,
      maxPayload: maxPayloadLength,
      // `ws` keeps a buffer for each fragment and each read, which takes more than the bytes of a short one.
      maxFragments: MIN_PARTS + Math.ceil(maxPayloadLength / BYTES_OF_FRAGMENT),
      maxBufferedChunks: MIN_PARTS + Math.ceil(maxPayloadLength / BYTES_OF_CHUNK),
      perMessageDeflate: compression !== 0 && (WITHOUT_CONTEXT as object),
      handleProtocols: () => this.protocol || false,
      WebSocket: InnerWebSocket,
    });
    this.server.on('headers', (lines) => {
      for (let index = 0; index < this.headers.length; index += 2) {
        lines.push(`${this.headers[index]}: ${this.headers[index + 1]}`);
      }
    });
  }

  /** Asks the handler `upgrade`, or accepts every client where there is none. */
  onRequest(res: HttpResponse, req: HttpRequest): void {
    if (this.behavior.upgrade) this.behavior.upgrade(res, req, CONTEXT);
    else res.upgrade({}, '', req.getHeader('sec-websocket-protocol'), '', CONTEXT);
  }

  /** Answers with 101, or with 400 where the request is no valid handshake. */
  accept({ message, socket, head, headers }: UpgradeRequest, userData: object, protocol: string): void {
    this.headers = headers;
    this.protocol = protocol;
    // The response and the first messages leave together. A rejection ends the socket, which is not corked any more then.
    socket.cork();
    this.server.handleUpgrade(message as IncomingMessage, socket, head, (inner) => {
      const opened = Object.assign(new PortableWebSocket(inner, socket, this), userData);
      opened.open();
      this.writer.write(opened);
      socket.uncork();
      if (isBehind(socket)) opened.onBacklog();
    });
  }

  /**
   * Closes the WebSockets from which nothing has come for `idleTimeout`. Where pings are sent, only those that have not
   * answered one: after a pause of this process, the ping itself may be late.
   * @param now in ms
   */
  sweep(now: number): void {
    const { idleTimeout = DEFAULT_IDLE_SECONDS, sendPingsAutomatically = true } = this.behavior;
    if (idleTimeout === 0) return;
    for (const socket of this.sockets) {
      const silence = socket.silence(now);
      const isPinged = !sendPingsAutomatically || socket.isPinged;
      if (silence >= idleTimeout * 1000 && isPinged) socket.close();
      else if (sendPingsAutomatically && silence >= (idleTimeout * 1000) / 2) socket.ping();
    }
  }
}
