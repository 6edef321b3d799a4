import { WebSocket } from 'ws';

/** A client that speaks the protocol word by word. `url` has the protocol's version, as {@link startEngine} gives it. */
export async function openPolling(url: string, headers: Record<string, string> = {}): Promise<RawPolling> {
  const response = await fetch(`${url}&transport=polling`, { headers });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${body}`);
  const open = JSON.parse(body.slice(body.indexOf('{'))) as OpenPacket;
  return new RawPolling(`${url}&transport=polling&sid=${open.sid}`, open, response.headers);
}

/** What the handshake tells. Source: Engine.IO v4, "Handshake". */
export interface OpenPacket {
  sid: string;
  upgrades: string[];
  pingInterval: number;
  pingTimeout: number;
  maxPayload: number;
}

export class RawPolling {
  constructor(
    readonly url: string,
    readonly open: OpenPacket,
    readonly headers: Headers,
  ) {}

  get sid(): string {
    return this.open.sid;
  }

  /** Polls once. Resolves with status and body. */
  async poll(signal?: AbortSignal): Promise<[number, string]> {
    const response = await fetch(this.url, { signal });
    return [response.status, await response.text()];
  }

  async post(body: BodyInit, headers: Record<string, string> = {}): Promise<[number, string]> {
    const response = await fetch(this.url, { method: 'POST', body, headers });
    return [response.status, await response.text()];
  }
}

export interface RawWebSocket {
  readonly socket: WebSocket;
  /** Resolves with the next message, past or to come; with `undefined` once the WebSocket is closed. */
  next(): Promise<string | Buffer | undefined>;
  /** Resolves with the close code; 1006 where there was none. */
  readonly closed: Promise<number>;
  /** Resolves with the status of a refusal, or 101. */
  readonly status: Promise<number>;
  send(data: string | Uint8Array): void;
}

const open = new Set<WebSocket>();

/** A WebSocket whose messages wait to be asked for. */
export function openWebSocket(
  url: string,
  headers: Record<string, string> = {},
  transport = 'websocket',
): RawWebSocket {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}&transport=${transport}`, {
    headers,
    rejectUnauthorized: false,
  });
  open.add(socket);
  const messages: (string | Buffer)[] = [];
  const waiting: ((message: string | Buffer | undefined) => void)[] = [];
  let isClosed = false;
  socket.on('error', () => {});
  socket.on('message', (data: Buffer, isBinary) => {
    const message = isBinary ? data : data.toString();
    const resolve = waiting.shift();
    if (resolve) resolve(message);
    else messages.push(message);
  });
  const closed = new Promise<number>((resolve) => {
    socket.on('close', (code) => {
      isClosed = true;
      for (const next of waiting.splice(0)) next(undefined);
      resolve(code);
    });
  });
  const status = new Promise<number>((resolve) => {
    socket.on('upgrade', () => resolve(101));
    socket.on('unexpected-response', (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
  });
  return {
    socket,
    closed,
    status,
    next: () =>
      new Promise((resolve) => {
        const message = messages.shift();
        if (message !== undefined || isClosed) resolve(message);
        else waiting.push(resolve);
      }),
    send: (data) => socket.send(data),
  };
}

/** Cuts off all WebSockets of the test. */
export function closeWebSockets(): void {
  for (const socket of open) socket.terminate();
  open.clear();
}
