import { connect } from 'node:net';
import { App, us_listen_socket_close, us_socket_local_port } from '../../engine/sockets.js';
import type { us_socket_context_t, WebSocketBehavior } from '../../sockets.js';

const KIB = 1024;
const MIB = 1024 * KIB;
/** The longest message if the application's library sets a limit that is larger, or none. As the default of `ws`. */
const MAX_PAYLOAD_BYTES = 100 * MIB;
/** The longest message if the limit of the application's library is not known. */
const DEFAULT_PAYLOAD_BYTES = MIB;
/** uWebSockets.js does not support longer messages. */
const LARGEST = 0x7f_ff_ff_ff;
const SIZES = [64 * KIB, MIB, 16 * MIB];

/** The longest message that an application accepts. */
export interface Limit {
  readonly bytes: number;
  /** Whether the application's library states it. */
  readonly isStated: boolean;
}

/**
 * uWebSockets.js collects a message before anything else sees it, up to a length that belongs to the route. The
 * application's library states its limit only after its request was routed, but a WebSocket can be accepted into any route.
 * So there are a few routes on an app of their own, each for another length. uWebSockets.js reveals a route only to a
 * request on it: before the first WebSocket is accepted, this process sends one to each of them.
 */
export class PayloadLimits<Data> {
  /** The length for the public route, which is the largest one. */
  readonly largest: number;
  private readonly routes = new Map<number, us_socket_context_t>();
  private state: 'unknown' | 'asking' | 'known' = 'unknown';
  private waiting: (() => void)[] = [];

  /** @param given the most bytes that a message may have, whatever the application's library accepts */
  constructor(
    private readonly given: number | undefined,
    private readonly behavior: WebSocketBehavior<Data>,
  ) {
    this.largest = Math.min(given ?? MAX_PAYLOAD_BYTES, LARGEST);
  }

  /** @param stated the limit of the application's library in bytes; 0 is none, undefined is unknown */
  limitFor(stated: number | undefined): Limit {
    const { largest, given } = this;
    if (stated === undefined) {
      return { bytes: given === undefined ? DEFAULT_PAYLOAD_BYTES : largest, isStated: false };
    }
    return stated === 0 || stated > largest ? { bytes: largest, isStated: false } : { bytes: stated, isStated: true };
  }

  /** The route with the shortest length that the limit fits into; undefined for the public one. */
  routeFor({ bytes }: Limit): us_socket_context_t | undefined {
    return this.routes.get(SIZES.find((size) => size >= bytes) ?? this.largest);
  }

  /** Calls back when the routes are known; usually at once. */
  whenKnown(callback: () => void): void {
    if (this.state === 'known') return callback();
    this.waiting.push(callback);
    if (this.state === 'unknown') this.ask();
  }

  private ask(): void {
    this.state = 'asking';
    const sizes = SIZES.filter((size) => size < this.largest);
    const app = App();
    for (const size of sizes) {
      app.ws<Data>(`/${size}`, {
        ...this.behavior,
        maxPayloadLength: size,
        upgrade: (res, _req, context) => {
          // Only the first request on the route is this process's own.
          if (!this.routes.has(size)) this.routes.set(size, context);
          res.close();
        },
      });
    }
    app.listen('127.0.0.1', 0, (listenSocket) => {
      // Then every WebSocket is on the public route.
      if (!listenSocket) return this.finish();
      let left = sizes.length;
      const done = () => {
        left--;
        if (left > 0) return;
        us_listen_socket_close(listenSocket);
        this.finish();
      };
      if (left === 0) return done();
      for (const size of sizes) request(us_socket_local_port(listenSocket), size, done);
    });
  }

  private finish(): void {
    this.state = 'known';
    const { waiting } = this;
    this.waiting = [];
    for (const callback of waiting) callback();
  }
}

/** Requests the route of a length. uWebSockets.js checks no more of the key than its length. */
function request(port: number, size: number, done: () => void): void {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.once('close', done);
  socket.write(
    `GET /${size} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${'A'.repeat(22)}==\r\n\r\n`,
  );
}
