import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { pass } from './until.js';

/** A way to a server that can be cut and mended, or held up: whoever comes over it while it is cut finds nobody. */
export class Wire {
  private readonly sockets = new Set<Socket>();
  /** The connections: from a client, and to the server. */
  private readonly ways = new Map<Socket, Socket>();
  private isCut = false;
  /** By how much what the server sends is late, in ms. */
  answersLateBy = 0;
  /** Whether what the server sends gets lost. */
  losesAnswers = false;
  /** How many connections were made so far. */
  connections = 0;

  private constructor(private readonly server: Server) {}

  /** @param port of the server, on the loopback interface */
  static async to(port: number): Promise<Wire> {
    const server = createServer();
    const wire = new Wire(server);
    server.on('connection', (near) => wire.join(near, port));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return wire;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  /** From now on, what clients send waits. */
  hold(): void {
    for (const [near, far] of this.ways) {
      near.unpipe(far);
      near.pause();
    }
  }

  /** From now on, what the server sends waits. */
  holdAnswers(): void {
    for (const far of this.ways.values()) far.pause();
  }

  /** What has waited goes on. */
  release(): void {
    for (const [near, far] of this.ways) {
      near.unpipe(far).pipe(far);
      far.resume();
    }
  }

  private answer(near: Socket, far: Socket): void {
    far.on('data', async (bytes) => {
      if (this.losesAnswers) return;
      if (this.answersLateBy > 0) await pass(this.answersLateBy);
      near.write(bytes);
    });
    far.on('end', () => near.end());
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private join(near: Socket, port: number): void {
    if (this.isCut) return void near.destroy();
    this.connections++;
    const far = connect(port, '127.0.0.1');
    this.ways.set(near, far);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(one);
      if (one === near) one.pipe(other);
      else this.answer(near, far);
      one.on('error', () => {});
      one.on('close', () => {
        this.sockets.delete(one);
        this.ways.delete(one);
        other.destroy();
      });
    }
  }
}
