import { ready, settings, unavailable } from './control.js';
import { App, us_socket_local_port } from './uws-binary.js';

// The default of 64 KiB is less than one answer of the marketdata benchmark, and uWebSockets.js drops what a socket is
// sent beyond it. socket.io on ws keeps everything; so that all peers deliver the same, no limit here either,
// but where a row is about it.
export const maxBackpressure = settings.maxBackpressure ?? 0;

export const app = App();

export function listen() {
  app.listen(settings.host, 0, (socket) => {
    if (socket) ready(us_socket_local_port(socket));
    else unavailable('uWebSockets.js could not listen');
  });
}
