import { join } from 'node:path';
import { hostOfOthers } from '../../engine/http/guarded-requests.js';
import { routeHttp } from '../../engine/routes.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { installedCopy } from '../socket-io-version.js';
import { Cors } from './headers.js';
import { StaticFiles } from './static-files.js';

/** The bundles that socket.io serves, source maps included. */
const allBundles = /^socket\.io.*\.js(\.map)?$/;
/** The bundles that a page of the chat service may load. */
export const pageBundles = /^socket\.io(\.esm)?(\.min)?\.js$/;

/** Adds the files of socket.io's client bundle at a path that ends in a slash. */
export function addClientBundle(files: StaticFiles, path: string, accept = allBundles): StaticFiles {
  const { folder, version } = installedCopy();
  // socket.io's own ETag: browsers can reuse the files that they have from a stock server.
  return files.add(path, join(folder, 'client-dist'), (name) => accept.test(name), `"${version}"`);
}

export interface ServeClientOptions {
  /** The engine's path; the files are below it. @default "/socket.io" */
  path?: string;
  /** Origins whose pages may load the bundle as a module; `*` is every origin. @default the server's own origin only */
  origins?: readonly string[];
}

/**
 * Serves the client's bundle (`/socket.io/socket.io.js`, `socket.io.min.js`, `socket.io.esm.min.js`, …) on your app, as
 * socket.io's option `serveClient` does on node:http. Call it before the app listens.
 */
export function serveClient(app: TemplatedApp, { path = '/socket.io', origins }: ServeClientOptions = {}): void {
  const files = addClientBundle(new StaticFiles(), `${path.replace(/\/$/, '')}/`);
  const cors = new Cors(origins);
  const host = hostOfOthers();
  for (const pattern of files.paths) {
    routeHttp(app, host, {
      pattern,
      secure: false,
      isReadOnly: true,
      handle: (exchange) => files.serve(exchange, cors.headersFor(exchange.request.headers.origin)),
    });
  }
}
