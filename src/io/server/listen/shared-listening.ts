import { type EventEmitter, errorMonitor } from 'node:events';
import { Server as HttpServer } from 'node:http';
import { type AddressInfo, type ListenOptions, Server as NetServer } from 'node:net';
import { nextTick, queueMicrotask, setImmediate } from '../../../base/clock.js';
import { replaceMethod } from '../../../base/foreign-objects.private.js';
import { own } from '../../../base/owner.js';
import { handleOf, sharesPorts } from '../../../engine/node/node-net.private.js';
import { type PortSharing, type SharedOwner, taken } from './port-owner.js';

/** An address that an application wants to listen on. */
export interface WantedAddress {
  /** By default, all addresses of the machine. */
  host?: string | undefined;
  port: number;
  /** For port 0: how many ports the system has picked for this process before. */
  turn: number;
  /** For port 0: the port that was picked, and that another process has taken since. */
  taken?: number | undefined;
}

/** How many ports the system may pick for port 0 before listening has failed: others can take each before it is used. */
const PICKED_PORTS = 3;

const plainListen = NetServer.prototype.listen;

/**
 * Lets the processes of an application listen on the same ports. An http.Server that serves nothing but Socket.IO listens
 * with uWebSockets.js. All other servers with Socket.IO listen with node:http, on a socket of their own where
 * Node.js can share ports. Servers without Socket.IO listen as in every worker of node:cluster, whose primary passes connections
 * on.
 */
export class SharedListening implements PortSharing {
  private readonly owners = new Map<HttpServer, SharedOwner>();
  private readonly others = new Set<NetServer>();
  private readonly waiting = new Set<HttpServer>();
  private readonly open = new Set<string>();
  private turns = 0;

  /**
   * @param claim finds out whether the processes can listen on an address; throws as `listen()` reports it
   * @param onListen called when a server is to listen
   * @param onListening called with each server that listens
   * @param onFailed called with each server's reason for not listening, before the application hears it
   * @param onUnheard called instead of an exception if a port cannot be had and no listener of `error` would hear it
   */
  constructor(
    private readonly claim: (address: WantedAddress) => Promise<AddressInfo>,
    private readonly onListen: () => void,
    private readonly onListening: (server: NetServer) => void,
    private readonly onFailed: (error: NodeJS.ErrnoException) => void = () => {},
    private readonly onUnheard?: (error: NodeJS.ErrnoException) => void,
  ) {}

  /** Changes `listen()` of all servers that the application creates. */
  install(): void {
    // That of http.Server first: it may be a method of its own, or the one that it inherits.
    for (const { prototype } of [HttpServer, NetServer]) {
      replaceMethod(prototype as NetServer, 'listen', (server, args) => {
        this.onListen();
        const listen = () => {
          this.watch(server);
          return Reflect.apply(plainListen, server, args) as NetServer;
        };
        const wanted = server instanceof HttpServer && !server.listening ? addressOf(args) : undefined;
        return wanted ? this.defer(server as HttpServer, wanted, listen) : listen();
      });
    }
    replaceMethod(HttpServer.prototype, 'close', (server, args, close) => {
      // A server that is closed before it listens never does.
      this.waiting.delete(server);
      return close(...args);
    });
  }

  /** Socket.IO may be attached right after listen(). */
  private defer(server: HttpServer, wanted: Wanted, listen: () => unknown): HttpServer {
    const { waiting } = this;
    if (waiting.has(server)) throw alreadyListening();
    waiting.add(server);
    const { callback, signal } = wanted;
    signal?.addEventListener('abort', () => server.close(), { once: true });
    queueMicrotask(() => {
      if (!waiting.has(server)) return;
      if (!this.owners.has(server)) {
        waiting.delete(server);
        listen();
      } else {
        if (callback) server.once('listening', callback);
        own('listening on a shared port', this.share(server, wanted));
      }
    });
    return server;
  }

  /** Called with the owner of the port of each http.Server that has a Socket.IO server. */
  own(server: HttpServer, owner: SharedOwner): void {
    this.owners.set(server, owner);
  }

  /** Accepts no new connections in this process from now on. */
  retire(): void {
    for (const owner of this.owners.values()) owner.retire();
    for (const server of this.others) handleOf(server)?.close();
  }

  /** Whether no request to a server with Socket.IO is in progress. */
  get isIdle(): boolean {
    return [...this.owners.values()].every((owner) => owner.isIdle);
  }

  private async share(server: HttpServer, { host, port, backlog }: Wanted): Promise<void> {
    try {
      const turn = port === 0 ? this.turns++ : 0;
      let local: AddressInfo | undefined;
      for (let attempt = 1; ; attempt++) {
        local = await this.claim({ host, port, turn, taken: local?.port });
        if (!this.waiting.has(server)) return;
        if (!this.owners.get(server)!.takesPort) return this.listenOnNode(server, local, backlog);
        if (this.opens(server, local)) break;
        if (port !== 0 || attempt === PICKED_PORTS) throw taken(local);
      }
      this.waiting.delete(server);
      server.emit('listening');
      this.onListening(server);
    } catch (error) {
      this.waiting.delete(server);
      this.onFailed(error as NodeJS.ErrnoException);
      if (this.onUnheard && server.listenerCount('error') === 0) return this.onUnheard(error as NodeJS.ErrnoException);
      // An exception of a listener is the application's.
      nextTick(() => server.emit('error', error));
    }
  }

  private opens(server: HttpServer, local: AddressInfo): boolean {
    const key = `${local.address} ${local.port}`;
    if (this.open.has(key) || !this.owners.get(server)!.listenShared(local)) return false;
    this.open.add(key);
    server.once('close', () => this.open.delete(key));
    return true;
  }

  /**
   * Lets node:http listen, on a socket of its own where Node.js can share ports. Otherwise the primary listens, as for every
   * worker of node:cluster, and passes each connection on, which more than doubles its cost.
   */
  private listenOnNode(server: HttpServer, { address, port }: AddressInfo, backlog: number | undefined): void {
    this.waiting.delete(server);
    this.others.add(server);
    server.once('close', () => this.others.delete(server));
    const emitter: EventEmitter = server;
    // A listener of `error` would hide the error of an application that has none.
    emitter.once(errorMonitor, this.onFailed);
    server.once('listening', () => {
      emitter.off(errorMonitor, this.onFailed);
      // node:cluster reports the address to its primary in the same turn.
      setImmediate(() => this.onListening(server));
    });
    plainListen.call(server, { host: address, port, backlog, reusePort: sharesPorts });
  }

  private watch(server: NetServer): void {
    if (this.others.has(server)) return;
    // A listener of `error` would hide the error of an application that has none.
    const emitter: EventEmitter = server;
    emitter.once(errorMonitor, this.onFailed);
    server.once('listening', () => {
      emitter.off(errorMonitor, this.onFailed);
      this.others.add(server);
      // node:cluster reports the address to its primary in the same turn.
      setImmediate(() => this.onListening(server));
    });
    server.once('close', () => this.others.delete(server));
  }
}

interface Wanted {
  host: string | undefined;
  port: number;
  /** uWebSockets.js takes none. */
  backlog: number | undefined;
  signal: AbortSignal | undefined;
  callback: (() => void) | undefined;
}

/** The address that the arguments of `listen()` name; undefined if node:net must handle them. */
function addressOf(args: readonly unknown[]): Wanted | undefined {
  const last = args.at(-1);
  const callback = typeof last === 'function' ? (last as () => void) : undefined;
  const [first, second, third] = args;
  // Any other text is the path of a Unix socket.
  if (typeof first === 'string' && portOf(first) === undefined) return;
  const options: ListenOptions = typeof first === 'object' && first !== null ? { ...first } : { port: portOf(first) };
  if (typeof second === 'string') options.host = second;
  const backlog = [second, third, options.backlog].find((each) => typeof each === 'number');
  const { port, host, path, exclusive, ipv6Only, signal } = options;
  const { fd, reusePort } = options as { fd?: number; reusePort?: boolean };
  if (path !== undefined || fd !== undefined || exclusive || ipv6Only || reusePort || '_handle' in options) return;
  const number = portOf(port);
  // node:net rejects other ports.
  if (number === undefined || !(number >= 0 && number < 65_536)) return;
  return { host, port: number, backlog, signal, callback };
}

/** Like node:net, it accepts the port as text, and picks one if there is none. */
function portOf(value: unknown): number | undefined {
  if (value === undefined || value === null || typeof value === 'function') return 0;
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : undefined;
}

function alreadyListening(): Error {
  const error = new Error('Listen method has been called more than once without closing.');
  return Object.assign(error, { code: 'ERR_SERVER_ALREADY_LISTEN' });
}
