// uWebSockets.js as gjallar's users get it: the binary for this Node and platform.

import { createRequire } from 'node:module';
import { freePort } from '../../../test/support/ports.js';
import { ready, settings } from './control.js';

const [major] = process.versions.node.split('.');
const uWebSockets = `@uwsjs/${process.platform}-${process.arch}-${major}`;
const { App, us_socket_local_port } = createRequire(import.meta.url)(uWebSockets);

// The default of 64 KiB is less than one answer of the marketdata benchmark, and uWebSockets.js drops what a socket is
// sent beyond it. socket.io on ws keeps everything; so that all peers deliver the same, no limit here either,
// but where a row is about it.
export const maxBackpressure = settings.maxBackpressure ?? 0;

export const app = App();

export async function listen() {
  // On port 0, uWebSockets.js would not take SO_REUSEADDR, and the port could not be listened on again after a deploy.
  app.listen(settings.host, settings.port ?? (await freePort()), (socket) => {
    if (!socket) throw new Error('uWebSockets.js could not listen');
    ready(us_socket_local_port(socket));
  });
}
