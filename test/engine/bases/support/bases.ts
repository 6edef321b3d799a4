import { Engine } from '../../../../src/engine/engine.js';
import type {
  FrameReceiver,
  HttpExchange,
  NativeWebSocket,
  UpgradeExchange,
  WebSocketConnection,
} from '../../../../src/engine/http/exchange.js';
import { NodeApp } from '../../../../src/engine/node/app.js';
import { routeHttp, routeWebSockets } from '../../../../src/engine/routes.js';
import { us_listen_socket_close, us_socket_local_port } from '../../../../src/engine/sockets.js';
import type { AppOptions, TemplatedApp } from '../../../../src/engine/uws/app.js';
import { uws } from '../../../../src/engine/uws/uws.js';

/** Makes an app, with TLS if there are options. */
export type Base = (options?: AppOptions) => TemplatedApp;

/** The bases that the contract holds for: node:http, and uWebSockets.js where its binary loads. */
export const bases: readonly (readonly [name: 'native' | 'node', base: Base])[] = [
  ...(uws ? ([['native', (options?: AppOptions) => (options ? uws!.SSLApp(options) : uws!.App())]] as const) : []),
  ['node', (options) => NodeApp.create(options)],
];

/** What a test does with the WebSockets of a route. */
export interface Behavior {
  maxPayload?: number;
  compresses?: boolean;
  maxBackpressure?: number;
  idleTimeout?: number;
  /** @default accepts every client */
  upgrade?(exchange: UpgradeExchange, accept: (headers?: Record<string, string | string[]>) => void): void;
  open?(webSocket: NativeWebSocket): void;
  message?(webSocket: NativeWebSocket, message: Buffer, isBinary: boolean): void;
  control?(): void;
  drain?(webSocket: NativeWebSocket): void;
  overflow?(): void;
  close?(code: number, reason: string): void;
}

/** An app, as far as a test needs it. */
export class TestApp {
  constructor(
    readonly app: TemplatedApp,
    private readonly secure: boolean,
  ) {}

  /** @param maxBody in bytes */
  http(pattern: string, handle: (exchange: HttpExchange) => void, maxBody = 1e6): this {
    routeHttp(this.app, new Engine(), { pattern, secure: this.secure, maxBody, handle });
    return this;
  }

  ws(pattern: string, behavior: Behavior): this {
    const { maxPayload = 16_384, compresses = false, maxBackpressure = 0, idleTimeout = 120 } = behavior;
    const host = new Engine({ maxBackpressure });
    engines.push(host);
    const { secure } = this;
    routeWebSockets(this.app, host, {
      ...{ pattern, secure, maxPayload, compresses, idleTimeout },
      onUpgrade: (exchange) => {
        const accept = (headers = {}) => exchange.accept(headers, new Receiver(behavior));
        if (behavior.upgrade) behavior.upgrade(exchange, accept);
        else accept();
      },
    });
    return this;
  }
}

class Receiver implements FrameReceiver {
  private webSocket: NativeWebSocket | undefined;

  constructor(private readonly behavior: Behavior) {}

  onOpen(webSocket: WebSocketConnection): void {
    this.webSocket = webSocket as NativeWebSocket;
    this.behavior.open?.(this.webSocket);
  }

  onMessage(message: ArrayBuffer | Buffer, isBinary: boolean): void {
    this.behavior.message?.(this.webSocket!, Buffer.from(new Uint8Array(message as ArrayBuffer)), isBinary);
  }

  onControlFrame(): void {
    this.behavior.control?.();
  }

  onDrain(): void {
    this.behavior.drain?.(this.webSocket!);
  }

  onOverflow(): void {
    this.behavior.overflow?.();
  }

  onFlood(): void {
    this.webSocket!.close();
  }

  onDetached(): void {}

  onClose(code: number, reason: string): void {
    this.behavior.close?.(code, reason);
  }
}

const engines: Engine[] = [];
const open: (() => void)[] = [];

/** An app on a free port of the loopback interface, until {@link closeApps}. */
export function start(
  base: Base,
  configure: (app: TestApp) => unknown,
  options?: AppOptions,
): Promise<{ app: TemplatedApp; port: number }> {
  const app = base(options);
  configure(new TestApp(app, options !== undefined));
  return new Promise((resolve, reject) => {
    app.listen('127.0.0.1', 0, (socket) => {
      if (!socket) return reject(new Error('cannot listen'));
      open.push(() => {
        us_listen_socket_close(socket);
        app.close();
      });
      resolve({ app, port: us_socket_local_port(socket) });
    });
  });
}

export function closeApps(): void {
  for (const close of open.splice(0)) close();
  for (const engine of engines.splice(0)) engine.close();
}
