import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const open = new Set<Socket>();

/** A connection on which a test writes bytes of its own. */
export class RawConnection {
  received = '';
  /** Resolves with everything received once the server has closed the connection. */
  readonly closed: Promise<string>;

  private constructor(readonly socket: Socket) {
    open.add(socket);
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => socket.on('close', () => resolve(this.received)));
  }

  /** @param reads whether it reads from the beginning on */
  static async to(port: number, reads = true): Promise<RawConnection> {
    const connection = new RawConnection(connect(port, '127.0.0.1'));
    await once(connection.socket, 'connect');
    if (reads) connection.read();
    return connection;
  }

  read(): this {
    this.socket.setEncoding('latin1');
    this.socket.on('data', (chunk: string) => {
      this.received += chunk;
    });
    return this;
  }

  write(text: string): this {
    this.socket.write(text);
    return this;
  }

  /** Resolves when this number of responses has arrived. */
  async responses(count: number): Promise<string[]> {
    while (this.statuses.length < count) await once(this.socket, 'data');
    return this.statuses;
  }

  /** The status lines received. */
  get statuses(): string[] {
    return this.received.match(/^HTTP\/1\.1 .*(?=\r$)/gm) ?? [];
  }
}

/** Closes all such connections of the test. */
export function closeConnections(): void {
  for (const socket of open) socket.destroy();
  open.clear();
}
