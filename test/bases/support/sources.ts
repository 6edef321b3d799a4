import { chosenSockets } from '../../../src/compat/uws/environment.js';
import { loadSockets } from '../../../src/compat/uws/load.js';
import { portableSockets } from '../../../src/portable/index.js';
import type { AppOptions, Sockets, TemplatedApp, us_listen_socket } from '../../../src/sockets.js';

type Source = readonly [name: 'native' | 'portable', sockets: Sockets];

/** The sockets that the contract holds for: the portable ones, and uWebSockets.js where its binary loads. */
export const sources: readonly Source[] = [
  ...(chosenSockets === 'portable' ? [] : native()),
  ['portable', portableSockets],
];

function native(): Source[] {
  const { facts, sockets } = loadSockets('');
  return facts.kind === 'native' ? [['native', sockets]] : [];
}

const open: (() => void)[] = [];

/** An app on a free port of the loopback interface, until {@link closeApps}. */
export function start(
  sockets: Sockets,
  configure: (app: TemplatedApp) => unknown,
  options?: AppOptions,
): Promise<{ app: TemplatedApp; port: number }> {
  const app = options ? sockets.SSLApp(options) : sockets.App();
  configure(app);
  return new Promise((resolve, reject) => {
    app.listen('127.0.0.1', 0, (socket) => {
      if (!socket) return reject(new Error('cannot listen'));
      closeLater(sockets, app, socket);
      resolve({ app, port: sockets.us_socket_local_port(socket) });
    });
  });
}

/** Ends an app with {@link closeApps}. */
export function closeLater(sockets: Sockets, app: TemplatedApp, socket: us_listen_socket): void {
  open.push(() => {
    sockets.us_listen_socket_close(socket);
    app.close();
  });
}

export function closeApps(): void {
  for (const close of open.splice(0)) close();
}
