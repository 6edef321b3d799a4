import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { HttpResponse } from './app.js';
import { uws } from './uws.js';

/**
 * uWebSockets.js writes a warning to the standard error for each upgrade that is accepted outside any handler and any
 * `HttpResponse.cork()`. The response's own `cork()` cannot be used. If the upgraded socket stays at the same address,
 * it still treats the socket as HTTP, and may close it. The cork of *another* response works. This class holds such a
 * response that never ends: a request of this process to itself, over a port that is closed once the request arrives.
 */
class CorkHolder {
  private response: HttpResponse | undefined;
  private socket: Socket | undefined;
  private users = 0;

  /** Registers an engine that may accept upgrades late. */
  acquire(): void {
    this.users++;
    if (this.users === 1) this.open();
  }

  /** The last engine to release it closes the connection. */
  release(): void {
    this.users--;
    if (this.users === 0) this.socket?.destroy();
  }

  /** Runs the callback within a cork; in the first moments of the process, without one. */
  run(callback: () => void): void {
    if (this.response) this.response.cork(callback);
    else callback();
  }

  private open(): void {
    if (!uws) return;
    const { App, us_listen_socket_close, us_socket_local_port } = uws;
    const path = `/${randomBytes(12).toString('hex')}`;
    const app = App().any(path, (res) => {
      res.onAborted(() => {
        // Another engine may have opened a new connection meanwhile.
        if (this.response === res) this.response = undefined;
      });
      this.response = res;
    });
    app.listen('127.0.0.1', 0, (listenSocket) => {
      if (!listenSocket) return;
      const socket = connect(us_socket_local_port(listenSocket), '127.0.0.1');
      this.socket = socket;
      socket.unref();
      let isListening = true;
      const stopListening = () => {
        if (isListening) us_listen_socket_close(listenSocket);
        isListening = false;
      };
      socket.on('error', () => {});
      // `close` comes alone if the last engine is closed before the connection is open.
      for (const event of ['connect', 'close']) socket.once(event, stopListening);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    });
  }
}

export const corkHolder = new CorkHolder();
