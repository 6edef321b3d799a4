import { EventEmitter } from 'node:events';
import { Server, type Socket } from 'socket.io';
import { WebSocket } from 'ws';
import type { TestNode } from './node.js';

/** Both namespaces that each connection of a recording joins. */
export const namespaces = ['/', '/two'] as const;

/** Servers whose every sent packet is kept, connection by connection, as texts. */
export interface Recording {
  readonly io: Server;
  /** The sockets of each connection, by namespace. */
  readonly connections: readonly Record<string, Socket>[];
  /** What each connection was sent since the last call. */
  take(): Promise<string[][]>;
}

const textOf = (data: string | Buffer) => (typeof data === 'string' ? data : `binary ${data.toString('hex')}`);

/** Stock socket.io with its own in-memory adapter, on an engine that keeps what it is given to send. */
export async function recordStock(count: number): Promise<Recording> {
  const engine = new EventEmitter();
  const io = new Server();
  io.of('/two');
  io.bind(engine);
  let sent = Array.from({ length: count }, (): string[] => []);
  const connections: Record<string, Socket>[] = [];
  for (let index = 0; index < count; index++) {
    const conn = Object.assign(new EventEmitter(), {
      id: `connection ${index}`,
      protocol: 4,
      readyState: 'open',
      transport: { writable: true },
      request: { headers: {}, connection: {}, _query: {} },
      remoteAddress: '',
      write: (data: string | Buffer) => sent[index]!.push(typeof data === 'string' ? `4${data}` : textOf(data)),
      close: () => {},
    });
    engine.emit('connection', conn);
    connections.push(await socketsOf(io, (namespace) => conn.emit('data', connectPacket(namespace))));
  }
  sent = sent.map(() => []);
  return {
    io,
    connections,
    take: async () => {
      const taken = sent;
      sent = sent.map(() => []);
      return taken;
    },
  };
}

/** A server under test, with WebSockets on all its bases in turn, which keep what they receive. */
export async function recordNode({ io, urls }: TestNode, count: number): Promise<Recording> {
  io.of('/two');
  let received = Array.from({ length: count }, (): string[] => []);
  let fences = 0;
  const waiting = new Map<string, () => void>();
  const connections: Record<string, Socket>[] = [];
  for (let index = 0; index < count; index++) {
    const url = urls[index % urls.length]!.replace('http', 'ws');
    const client = new WebSocket(`${url}/socket.io/?EIO=4&transport=websocket`);
    await new Promise((resolve) => client.once('open', resolve));
    client.on('message', (data: Buffer, isBinary) => {
      const text = textOf(isBinary ? data : data.toString());
      if (text === '2') return client.send('3');
      const fence = waiting.get(`${index} ${text}`);
      if (fence) return fence();
      received[index]!.push(text);
    });
    connections.push(await socketsOf(io, (namespace) => client.send(`4${connectPacket(namespace)}`)));
  }
  const flush = async () => {
    const name = `fence ${fences++}`;
    const all = connections.map(({ '/': socket }, index) => {
      const arrived = new Promise<void>((resolve) => waiting.set(`${index} 42${JSON.stringify([name])}`, resolve));
      socket!.emit(name);
      return arrived;
    });
    await Promise.all(all);
    waiting.clear();
    const taken = received;
    received = received.map(() => []);
    return taken;
  };
  await flush();
  return { io, connections, take: flush };
}

function connectPacket(namespace: string): string {
  return namespace === '/' ? '0' : `0${namespace},`;
}

async function socketsOf(io: Server, connect: (namespace: string) => void): Promise<Record<string, Socket>> {
  const sockets: Record<string, Socket> = {};
  for (const namespace of namespaces) {
    const connected = new Promise<Socket>((resolve) => io.of(namespace).once('connection', resolve));
    connect(namespace);
    sockets[namespace] = await connected;
  }
  return sockets;
}
