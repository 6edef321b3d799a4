import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import type { ListenAddress, ListenFailure } from '../protocol.js';

/** The answer to a worker that wants to listen. */
type Claimed = { local: AddressInfo; failure?: undefined } | { local?: undefined; failure: ListenFailure };

/**
 * The ports that the workers share. The workers share a port with SO_REUSEPORT, so another server of the same user could
 * share it unnoticed. The first claim of an address therefore tries an ordinary listener.
 */
export class SharedPorts {
  private readonly claims = new Map<string, Promise<Claimed>>();
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
      claim = tryToListen(address).then((claimed) => {
        if (claimed.local) this.addresses.push(claimed.local);
        // The port may be free when a worker tries again.
        else this.claims.delete(key);
        return claimed;
      });
      this.claims.set(key, claim);
    }
    return claim;
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
