import { join } from 'node:path';
import cors from 'cors';
import { packagePath } from '../../base/package.js';
import type { HttpExchange, ResponseHeaders } from '../../engine/http/exchange.js';
import { hostOfOthers } from '../../engine/http/guarded-requests.js';
import { applyMiddleware, responseOf } from '../../engine/http/middleware.js';
import type { EngineSettings } from '../../engine/options.js';
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
  const { path = '/socket.io', origins } = options;
  const allowed = new Cors(origins);
  serveFiles(app, bundleBelow(folderOf(path)), ({ request }, next) => next(allowed.headersFor(request.headers.origin)));
}

/** Serves the same as a `Server` with this option `cors`. */
export function serveBundle(app: TemplatedApp, path: string, given: EngineSettings['cors']): void {
  serveFiles(app, bundleBelow(folderOf(path)), corsOf(given));
}

/** Serves the helper alone, where socket.io serves its bundle itself. */
export function serveHelper(app: TemplatedApp, path: string, given: EngineSettings['cors']): void {
  serveFiles(app, addHelper(new StaticFiles(), folderOf(path)), corsOf(given));
}

const folderOf = (path: string) => `${path.replace(/\/$/, '')}/`;
const bundleBelow = (folder: string) => addHelper(addClientBundle(new StaticFiles(), folder), folder);

/** Calls `next` with the headers that say which pages may read the response. */
type Allowing = (exchange: HttpExchange, next: (headers: ResponseHeaders) => void) => void;

/** As for polling. Like socket.io, it serves the files also if a function of the application fails. */
function corsOf(given: EngineSettings['cors']): Allowing {
  if (!given) return (_exchange, next) => next({});
  const middleware = cors(given as cors.CorsOptions);
  return (exchange, next) => applyMiddleware([middleware], exchange, () => next(responseOf(exchange).collected()));
}

function serveFiles(app: TemplatedApp, files: StaticFiles, allow: Allowing): void {
  const host = hostOfOthers();
  for (const pattern of files.paths) {
    routeHttp(app, host, {
      pattern,
      secure: false,
      isReadOnly: true,
      handle: (exchange) => allow(exchange, (headers) => void files.serve(exchange, headers)),
    });
  }
}
