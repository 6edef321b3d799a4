// uWebSockets.js as gjallar's users get it: the binary for this Node and platform. A version that is measured with --against
// may have the package uWebSockets.js instead.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const [major] = process.versions.node.split('.');

function binary() {
  try {
    return require(`@uwsjs/${process.platform}-${process.arch}-${major}`);
  } catch {
    return undefined;
  }
}

export const { App, us_socket_local_port } = binary() ?? (await import('uWebSockets.js'));
