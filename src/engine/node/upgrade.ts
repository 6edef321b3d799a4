import * as crypto from 'node:crypto';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { FrameReceiver, ResponseHeaders, UpgradeExchange } from '../http/exchange.js';
import type { ExchangeHost } from '../http/guarded-requests.js';
import { PartsOfBody } from '../incoming/parts-of-body.js';
import { NodeHttpExchange } from './exchange.js';
import type { Progress } from './progress.js';
import { readMessage } from './request.js';
import { ownSocket, type SocketOwner } from './socket-owner.js';
import { NodeWebSocket } from './web-socket.js';
import type { NodeWebSockets } from './web-sockets.js';

/** Bytes that a client may send before its request is decided on. */
const MAX_EARLY_BYTES = 65_536;

/** A request for which node:http has given its connection up: it gets a WebSocket, or a response, after which it ends. */
export class NodeUpgradeExchange extends NodeHttpExchange implements UpgradeExchange, SocketOwner {
  /** What has come after the request. */
  private readonly early = new PartsOfBody();

  /** @param webSockets undefined if the request can only get a response */
  constructor(
    message: IncomingMessage,
    head: Buffer,
    private readonly webSockets: NodeWebSockets | undefined,
    host: ExchangeHost,
    progress: Progress,
  ) {
    super(readMessage(message, host.settings.trustProxy), message, undefined, 0, host, progress);
    this.early.add(head);
    ownSocket(message.socket, this);
  }

  accept(headers: ResponseHeaders, receiver: FrameReceiver): void {
    if (this.finished) return;
    this.finished = true;
    this.complete();
    const { message, webSockets, socket } = this;
    const isCompressed = webSockets!.compresses && acceptsDeflate(message.headers['sec-websocket-extensions']);
    const webSocket = new NodeWebSocket(socket, webSockets!, receiver, isCompressed);
    const response = responseTo(message, headers, isCompressed);
    ownSocket(socket, webSocket);
    if (socket.timeout) socket.setTimeout(0);
    webSocket.open(response, this.early.take());
    if (socket.isPaused()) socket.resume();
  }

  onData(chunk: Buffer): void {
    if (this.finished) return;
    this.early.add(chunk);
    if (this.early.length > MAX_EARLY_BYTES) this.socket.pause();
  }

  onEnd(): void {
    if (!this.finished) this.socket.destroy();
  }

  onGone(): void {
    this.gone();
  }

  protected override make(): ServerResponse {
    const { message, socket } = this;
    const response = new ServerResponse(message);
    // node:http has given the connection up, so no further request is read from it.
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    return response.on('finish', () => socket.destroySoon());
  }
}

/** Whether a request asks for a WebSocket correctly. Source: RFC 6455, section 4.2.1. */
export function isHandshake({ method, headers }: IncomingMessage): boolean {
  const { upgrade = '', 'sec-websocket-key': key = '' } = headers;
  return method === 'GET' && upgrade.toLowerCase() === 'websocket' && /^[+/0-9A-Za-z]{22}==$/.test(key);
}

/** Node.js 20.12 and later have a faster way. */
const sha1 = (text: string): string =>
  typeof crypto.hash === 'function'
    ? crypto.hash('sha1', text, 'base64')
    : crypto.createHash('sha1').update(text).digest('base64');

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Source: RFC 6455, section 4.2.2. */
function responseTo({ headers: asked }: IncomingMessage, headers: ResponseHeaders, isCompressed: boolean): Buffer {
  const accept = sha1(`${asked['sec-websocket-key']}${GUID}`);
  let text =
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
    `Sec-WebSocket-Accept: ${accept}\r\n`;
  const protocol = asked['sec-websocket-protocol']?.replace(/,.*/, '').trim();
  if (protocol) text += `Sec-WebSocket-Protocol: ${protocol}\r\n`;
  if (isCompressed) text += `Sec-WebSocket-Extensions: ${DEFLATE}\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    for (const one of Array.isArray(value) ? value : [value]) text += `${name}: ${one}\r\n`;
  }
  return Buffer.from(`${text}\r\n`, 'latin1');
}

/** What the server agrees to: no message depends on an earlier one, so that a broadcast is compressed once. */
const DEFLATE = 'permessage-deflate; server_no_context_takeover; client_no_context_takeover';

/** Without a value, a client lets the server choose its window. Any window that a client may use can be read. */
const PARAMETER =
  /^(?:(?:server|client)_no_context_takeover|client_max_window_bits(?:="?(?:8|9|1[0-5])"?)?|server_max_window_bits="?15"?)$/;

/** Whether a client has offered a compression that the server can use. Source: RFC 7692, sections 5 and 7.1. */
function acceptsDeflate(offers: string | undefined): boolean {
  if (!offers) return false;
  return offers.split(',').some((offer) => {
    const [name, ...parameters] = offer.split(';').map((part) => part.trim().replace(/\s*=\s*/, '='));
    const names = parameters.map((parameter) => parameter.split('=', 1)[0]);
    return (
      name === 'permessage-deflate' &&
      new Set(names).size === names.length &&
      parameters.every((parameter) => PARAMETER.test(parameter))
    );
  });
}
