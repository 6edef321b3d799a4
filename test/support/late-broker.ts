import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A way to a server, over which its answers come late, or not at all while requests still reach it. */
export class LateBroker {
  /** By how much answers are late, in ms. */
  delayMs = 0;
  /** Whether answers get lost. */
  isHalfOpen = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('connection', (client) => this.join(client));
  }

  static async before(url: string): Promise<LateBroker> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LateBroker(server, new URL(url));
  }

  get url(): string {
    const url = new URL(this.target);
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  private join(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    client.pipe(server);
    server.on('data', (bytes) => {
      if (this.isHalfOpen) return;
      setTimeout(() => client.write(bytes), this.delayMs);
    });
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        this.sockets.delete(socket);
        (socket === client ? server : client).destroy();
      });
    }
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}
