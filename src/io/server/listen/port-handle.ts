import type { AddressInfo } from 'node:net';
import type { ListenHandle } from '../../../engine/node/node-net.private.js';
import { us_listen_socket_close } from '../../../engine/sockets.js';
import type { TemplatedApp, us_listen_socket } from '../../../engine/uws/app.js';

/** Other processes of the same user may share the port. */
const SHARED = 0;
/** No other process of the same user may share the port. */
const EXCLUSIVE = 1;

/**
 * A port on which uWebSockets.js listens. It replaces the handle of a node:net server. The server's own `address()`,
 * `listening` and `close()` work with it unchanged.
 */
export class PortHandle implements ListenHandle {
  readonly fd = -1;
  private isRetired = false;

  private constructor(
    private readonly sockets: us_listen_socket[],
    private readonly local: AddressInfo,
    private readonly onClose: () => void,
  ) {}

  /** Makes an app listen. Returns undefined if the port is in use. */
  static listen(app: TemplatedApp, local: AddressInfo, isShared: boolean, onClose: () => void): PortHandle | undefined {
    const mode = isShared ? SHARED : EXCLUSIVE;
    const socket = openOn(app, local, mode);
    return socket && new PortHandle([socket], local, onClose);
  }

  /** Makes the app listen on a further port, as long as it listens on this one. Returns false if the port is in use. */
  listenAlso(app: TemplatedApp, local: AddressInfo): boolean {
    const socket = openOn(app, local, SHARED);
    if (socket) this.sockets.push(socket);
    return socket !== undefined;
  }

  /** Accepts no new connections from now on. The server does not notice. */
  retire(): void {
    if (this.isRetired) return;
    this.isRetired = true;
    for (const socket of this.sockets) us_listen_socket_close(socket);
  }

  close(callback?: () => void): void {
    this.retire();
    this.onClose();
    if (callback) process.nextTick(callback);
  }

  getsockname(address: object): number {
    Object.assign(address, this.local);
    return 0;
  }

  /** The loop stays alive as long as uWebSockets.js listens. */
  ref(): void {}

  unref(): void {}

  hasRef(): boolean {
    return true;
  }
}

function openOn(app: TemplatedApp, { address, port }: AddressInfo, mode: number): us_listen_socket | undefined {
  let opened: us_listen_socket | undefined;
  // listen() calls it before it returns.
  const done = (socket: us_listen_socket | false) => {
    opened = socket || undefined;
  };
  // Without a host, uWebSockets.js listens on both address families, as node:net does with `::`.
  const listen = app.listen as (...args: unknown[]) => void;
  if (address === '::') listen.call(app, port, mode, done);
  else listen.call(app, address, port, mode, done);
  return opened;
}
