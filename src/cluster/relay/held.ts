import type { Closing } from '../../engine/delivery/closing.js';
import type { FrameReceiver, NativeWebSocket, ResponseHeaders, UpgradeExchange } from '../../engine/http/exchange.js';
import { EngineRequest } from '../../engine/http/request.js';
import { setReceiver } from '../../engine/uws/routes.js';
import { parseJson, type Resumption } from './messages.js';

/** How long another worker may take to recover the sockets of a client, in ms. */
const TIMEOUT_MS = 10_000;
/** How many bytes of one client, and of all together, may wait meanwhile. */
const MAX_WAITING_BYTES = 1024 * 1024;
const MAX_WAITING_BYTES_IN_ALL = 64 * 1024 * 1024;
/** Memory of a waiting message besides its data, in bytes. */
const MESSAGE_OVERHEAD = 128;

/** The first characters of text packets of Engine.IO and Socket.IO. */
const OPEN = '0';
const PING = '2';
const CONNECT = '40';
const CONNECT_ERROR = '44';

/** The parts of the engine that holds the WebSocket. */
export interface Holder {
  readonly closing: Closing;
  /** What the client was told when it connected. */
  readonly settings: { readonly pingInterval: number; readonly pingTimeout: number };
}

/** A message that the client has sent meanwhile. */
interface Waiting {
  message: Buffer;
  isBinary: boolean;
}

/**
 * A WebSocket that stays on this worker while its session goes to another one. This worker connects to the other one as
 * the client would if its connection had failed, on the client's behalf:
 *
 * ```
 * CLIENT            HOLDER                             SUCCESSOR
 *   │                  │  upgrade(parts)                   │
 *   │                  │ ────────────────────────────────▶ │
 *   │                  │  accept, open packet              │
 *   │                  │ ◀──────────────────────────────── │
 *   │                  │  CONNECT with pid and offset      │
 *   │                  │ ────────────────────────────────▶ │
 *   │  missed packets  │  missed packets, CONNECT          │
 *   │ ◀─────────────── │ ◀──────────────────────────────── │
 *   │  ping            │                                   │
 *   │ ◀─────────────── │                                   │
 *   │  messages        │  clientText ▶             ◀ text  │
 *   │ ◀──────────────▶ │ ◀───────────────────────────────▶ │
 * ```
 *
 * The client sees neither the open packet nor the CONNECT packets, but a ping. What it sends meanwhile waits. If a socket
 * is not recovered, or the successor pings too rarely for this client, the client is dismissed, and connects again by
 * itself.
 */
export class HeldExchange implements UpgradeExchange, FrameReceiver {
  /** The request for the WebSocket, without the id of the session that it belonged to. */
  readonly request: EngineRequest;
  finished = false;
  onAborted: (() => void) | undefined;
  onAnswerNow: (() => void) | undefined;
  middlewareResponse: undefined;
  private receiver: FrameReceiver | undefined;
  private readonly missing = new Map<string, Resumption>();
  private readonly waiting: Waiting[] = [];
  private waitingBytes = 0;
  private static waitingBytesInAll = 0;
  private readonly timer: NodeJS.Timeout;
  private isOver = false;

  /**
   * From now on, what the client sends waits.
   * @param onEnd called when the session is on another worker (true), or the client is dismissed or gone (false)
   */
  constructor(
    private readonly webSocket: NativeWebSocket,
    request: EngineRequest,
    private readonly holder: Holder,
    private readonly onEnd: (isRecovered: boolean) => void,
  ) {
    const query = new URLSearchParams({ ...request._query, transport: 'websocket' });
    query.delete('sid');
    const parts = request.toParts();
    this.request = new EngineRequest({ ...parts, url: `${parts.url.split('?', 1)[0]}?${query}` });
    setReceiver(webSocket, this);
    this.timer = setTimeout(() => this.fail(), TIMEOUT_MS);
  }

  /** Recovers these sockets, once the other worker accepts the request. */
  expect(resumptions: readonly Resumption[]): void {
    for (const one of resumptions) this.missing.set(one.nsp, one);
  }

  readBody(): void {}

  /** The other worker has rejected the request. */
  send(): void {
    this.fail();
  }

  destroy(): void {
    this.fail();
  }

  accept(_headers: ResponseHeaders, receiver: FrameReceiver): void {
    if (this.isOver) return;
    this.finished = true;
    this.receiver = receiver;
    const { webSocket } = this;
    const { closing } = this.holder;
    receiver.onOpen({
      send: (message, isBinary, compress) => {
        if (!isBinary && this.isSwallowed(message as Buffer)) return 1;
        return webSocket.send(message, isBinary, compress);
      },
      getBufferedAmount: () => webSocket.getBufferedAmount(),
      end: (code, reason) => closing.end(webSocket, code, reason),
      close: () => webSocket.close(),
      dismiss: () => closing.dismiss(webSocket),
      cork: (callback) => callback(),
    });
    for (const { nsp, auth, pid, offset } of this.missing.values()) {
      const name = nsp === '/' ? '' : `${nsp},`;
      receiver.onMessage(Buffer.from(`${CONNECT}${name}${JSON.stringify({ ...auth, pid, offset })}`), false);
    }
  }

  /** Whether a message is the answer to what this worker has sent by itself. */
  private isSwallowed(message: Buffer): boolean {
    const start = message.toString('latin1', 0, 2);
    if (start[0] === OPEN) {
      if (!this.pingsInTime(message)) this.fail();
      return true;
    }
    if (this.isOver || (start !== CONNECT && start !== CONNECT_ERROR)) return false;
    const [, nsp = '/', json = ''] = /^4[04](?:(\/[^,]*),)?(.*)$/s.exec(message.toString()) ?? [];
    const expected = this.missing.get(nsp);
    if (!expected) return false;
    if (start === CONNECT_ERROR || !isSame(expected, json)) this.fail();
    else {
      this.missing.delete(nsp);
      if (this.missing.size === 0) this.recovered();
    }
    return true;
  }

  /** The client knows only the times that it was told. It leaves when it has heard nothing for both together. */
  private pingsInTime(open: Buffer): boolean {
    const { pingInterval } = parseJson(open.toString('utf8', OPEN.length)) as { pingInterval: number };
    const told = this.holder.settings;
    // A ping may be late.
    return pingInterval <= told.pingInterval + told.pingTimeout / 2;
  }

  private recovered(): void {
    const { receiver, webSocket } = this;
    const waiting = this.end();
    setReceiver(webSocket, receiver!);
    receiver!.onOpen(webSocket);
    // The new session begins its interval only now. The client would wait for a ping longer than it may.
    webSocket.send(PING, false, false);
    for (const { message, isBinary } of waiting) receiver!.onMessage(message, isBinary);
    this.onEnd(true);
  }

  private fail(): void {
    if (this.isOver) return;
    this.over();
    this.holder.closing.dismiss(this.webSocket);
  }

  private over(): void {
    this.end();
    this.finished = true;
    if (this.receiver) this.receiver.onClose(1006, '');
    else this.onAborted?.();
    this.onEnd(false);
  }

  /** Returns what has waited. */
  private end(): readonly Waiting[] {
    this.isOver = true;
    clearTimeout(this.timer);
    HeldExchange.waitingBytesInAll -= this.waitingBytes;
    return this.waiting.splice(0);
  }

  onOpen(): void {}

  onMessage(message: ArrayBuffer | Buffer, isBinary: boolean): void {
    if (this.isOver) return;
    const copy = Buffer.from(new Uint8Array(message as ArrayBuffer));
    this.waiting.push({ message: copy, isBinary });
    const bytes = copy.length + MESSAGE_OVERHEAD;
    this.waitingBytes += bytes;
    HeldExchange.waitingBytesInAll += bytes;
    if (this.waitingBytes > MAX_WAITING_BYTES || HeldExchange.waitingBytesInAll > MAX_WAITING_BYTES_IN_ALL) this.fail();
  }

  onDrain(): void {
    this.receiver?.onDrain();
  }

  onOverflow(): void {
    this.fail();
  }

  onFlood(): void {
    this.webSocket.close();
  }

  onDetached(): void {}

  onClose(): void {
    if (!this.isOver) this.over();
  }
}

/** Whether the answer to CONNECT names the socket that the client has. */
function isSame({ sid, pid }: Resumption, json: string): boolean {
  try {
    const answer = JSON.parse(json) as Partial<Resumption>;
    return answer.sid === sid && answer.pid === pid;
  } catch {
    return false;
  }
}
