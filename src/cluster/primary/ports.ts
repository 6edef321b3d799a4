import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { replaceMethod } from '../../base/foreign-objects.private.js';
import type { ListenAddress, ListenFailure } from '../protocol.js';

/** The addresses that stand for all addresses of the machine. */
const WILDCARDS = new Set(['', '0.0.0.0', '::']);

/** The name of the lock of an address. */
function lockNameOf(host: string, port: number): string {
  return `${WILDCARDS.has(host) ? '*' : host} ${port}`;
}

/**
 * Keeps two servers that start at the same moment from sharing a port: workers share theirs with SO_REUSEPORT, so the
 * kernel would let both in. The lock is a Unix socket in Linux's abstract namespace. It belongs to the network namespace,
 * as ports do, and vanishes with the process.
 * @returns undefined if the system has no such sockets, and for port 0
 * @throws an error with the code EADDRINUSE if another server holds the lock
 */
export async function lockPort(host: string, port: number): Promise<Server | undefined> {
  if (process.platform !== 'linux' || port === 0) return undefined;
  const lock = createServer((connection) => connection.destroy());
  const isLocked = await new Promise<boolean>((resolve, reject) => {
    lock.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') reject(error);
      else resolve(false);
    });
    lock.listen(`\0gjallar ${lockNameOf(host, port)}`, () => resolve(true));
  });
  if (!isLocked) return undefined;
  lock.unref();
  return lock;
}

/** The messages of node:cluster that hand a connection to a worker, and the one that confirms them. */
interface ClusterMessage {
  act?: string;
  seq?: number;
  ack?: number;
}

/**
 * Closes the connections that a worker has not confirmed when its process ends. node:cluster keeps its copy of each until
 * then, so that the client of one that a killed worker never read would wait for ever. With native sockets, workers accept
 * connections themselves.
 */
export function closeUnconfirmed(worker: ChildProcess): void {
  const handed = new Map<number, { close(): void }>();
  replaceMethod(worker, 'send', (_worker, args, send) => {
    const [message, handle] = args;
    const { act, seq } = Object(message) as ClusterMessage;
    if (act === 'newconn' && seq !== undefined && handle) handed.set(seq, handle as { close(): void });
    return send(...args);
  });
  worker.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) handed.delete(ack);
  });
  worker.once('exit', () => {
    for (const handle of handed.values()) handle.close();
    handed.clear();
  });
}

/** The answer to a worker that wants to listen. */
type Claimed = { local: AddressInfo; failure?: undefined } | { local?: undefined; failure: ListenFailure };

/**
 * The ports that the workers share. The workers share a port with SO_REUSEPORT, so another server of the same user could
 * share it unnoticed. The first claim of an address therefore tries an ordinary listener. A lock keeps out another server
 * that tries at the same moment.
 */
export class SharedPorts {
  private readonly claims = new Map<string, Promise<Claimed>>();
  /** By their names. */
  private readonly locks = new Map<string, Server>();
  /** The addresses that workers may listen on, in the order in which they were claimed. */
  readonly addresses: AddressInfo[] = [];

  /** A worker listens without a claim. The port is not above 0 if it is no TCP port. */
  note(address: string, port: number): void {
    if (port > 0 && !this.addresses.some((known) => known.port === port)) {
      this.addresses.push({ address: address ?? '::', family: '', port });
    }
  }

  /** Finds out whether workers can listen on an address. For port 0, it picks a free port, or another than the taken one. */
  async claim(address: ListenAddress): Promise<Claimed> {
    const { host = '', port, turn, taken } = address;
    const key = JSON.stringify([host, port, port === 0 ? turn : 0]);
    let claim = this.claims.get(key);
    if (claim && taken !== undefined) {
      const { local } = await claim;
      // Another worker may have had it replaced.
      if (local?.port === taken && this.claims.get(key) === claim) {
        this.claims.delete(key);
        this.addresses.splice(this.addresses.indexOf(local), 1);
      }
      claim = this.claims.get(key);
    }
    if (!claim) {
      claim = this.lockAndTry(address).then((claimed) => {
        if (claimed.local) this.addresses.push(claimed.local);
        // The port may be free when a worker tries again.
        else this.claims.delete(key);
        return claimed;
      });
      this.claims.set(key, claim);
    }
    return claim;
  }

  /** Lets other servers have the ports once no worker listens on them. */
  unlock(): void {
    for (const lock of this.locks.values()) lock.close();
    this.locks.clear();
  }

  private async lockAndTry(address: ListenAddress): Promise<Claimed> {
    const { host = '', port } = address;
    const name = lockNameOf(host, port);
    let lock: Server | undefined;
    try {
      if (!this.locks.has(name)) lock = await lockPort(host, port);
    } catch (error) {
      const { code = 'EADDRINUSE' } = error as NodeJS.ErrnoException;
      return { failure: { code, message: `listen ${code}: another gjallar starts or runs on ${host}:${port}` } };
    }
    const claimed = await tryToListen(address);
    if (lock && claimed.local) this.locks.set(name, lock);
    else lock?.close();
    return claimed;
  }
}

function tryToListen({ host, port }: ListenAddress): Promise<Claimed> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code = 'EINVAL', message }: NodeJS.ErrnoException) => {
      resolve({ failure: { code, message } });
    });
    server.listen(port, host, () => {
      const local = server.address() as AddressInfo;
      server.close(() => resolve({ local }));
    });
  });
}

/**
 * Whether the kernel moves waiting connections to another listen socket of the same port when theirs is closed.
 * Otherwise it resets them. Linux 5.14 and later do so if `net.ipv4.tcp_migrate_req` is 1.
 */
export function movesConnections(): boolean {
  try {
    return readFileSync('/proc/sys/net/ipv4/tcp_migrate_req', 'utf8').trim() === '1';
  } catch {
    return false;
  }
}
