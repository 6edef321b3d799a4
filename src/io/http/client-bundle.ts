import { join } from 'node:path';
import { packagePath } from '../../base/package.js';
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
  const copy = installedCopy();
  if (!copy) return files;
  const { folder, version } = copy;
  // socket.io's own ETag: browsers can reuse the files that they have from a stock server.
  return files.add(path, join(folder, 'client-dist'), (name) => accept.test(name), `"${version}"`);
}

/** The modules of gjallar's helper for clients: pages import `gjallar-client.js` from beside the bundle. */
export const helperModules = /^gjallar-client(-\w+)?\.js$/;

/** Adds the helper for clients at a path that ends in a slash. */
export function addHelper(files: StaticFiles, path: string): StaticFiles {
  return files.add(path, packagePath('public'), (name) => helperModules.test(name));
}

export interface ServeClientOptions {
  /** The engine's path; the files are below it. @default "/socket.io" */
  path?: string;
  /** Origins whose pages may load the bundle as a module; `*` is every origin. @default the server's own origin only */
  origins?: readonly string[];
}

/**
 * Serves the client's bundle (`/socket.io/socket.io.js`, `socket.io.min.js`, `socket.io.esm.min.js`, …) on your app, as
 * socket.io's option `serveClient` does on node:http, and gjallar's helper beside it (`/socket.io/gjallar-client.js`). Call it
 * before the app listens.
 */
export function serveClient(app: TemplatedApp, options: ServeClientOptions = {}): void {
  const below = folderOf(options);
  serveFiles(app, addHelper(addClientBundle(new StaticFiles(), below), below), options);
}

/** Serves the helper alone, where socket.io serves its bundle itself. */
export function serveHelper(app: TemplatedApp, options: ServeClientOptions = {}): void {
  serveFiles(app, addHelper(new StaticFiles(), folderOf(options)), options);
}

const folderOf = ({ path = '/socket.io' }: ServeClientOptions) => `${path.replace(/\/$/, '')}/`;

function serveFiles(app: TemplatedApp, files: StaticFiles, { origins }: ServeClientOptions): void {
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
