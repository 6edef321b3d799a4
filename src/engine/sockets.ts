import { isNodeApp, isNodeSocket, nodeApps } from './node/load.js';
import type { AppOptions, TemplatedApp, us_listen_socket } from './uws/app.js';
import { uws } from './uws/uws.js';

/** uWebSockets.js's `App`, or one on node:http if there is no binary. */
export const App = (): TemplatedApp => (uws ? uws.App() : nodeApps().create());

/** The same with TLS. */
export const SSLApp = (options: AppOptions): TemplatedApp => (uws ? uws.SSLApp(options) : nodeApps().create(options));

export function us_listen_socket_close(socket: us_listen_socket): void {
  if (isNodeSocket(socket)) socket.close();
  else uws!.us_listen_socket_close(socket);
}

export function us_socket_local_port(socket: us_listen_socket): number {
  return isNodeSocket(socket) ? socket.port : uws!.us_socket_local_port(socket);
}

/** Whether an app has TLS. */
export const isSecureApp = (app: TemplatedApp): boolean =>
  // Only the name of its class distinguishes an SSLApp of uWebSockets.js from an App.
  isNodeApp(app) ? app.isSecure : app.constructor.name === 'uWS.SSLApp';
