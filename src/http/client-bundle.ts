import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { join } from 'node:path';
import { installedVersion, packageFolder } from '../compat/socket-io-server.js';
import { Cors } from './cors.js';
import { StaticFiles } from './static-files.js';

/** The client's bundle at a path that ends in a slash. */
export function addClientBundle(files: StaticFiles, path: string): StaticFiles {
  const folder = join(packageFolder(), 'client-dist');
  // The tag that socket.io itself gives them, so that browsers may keep what they have from there.
  return files.add(path, folder, (name) => /^socket\.io.*\.js(\.map)?$/.test(name), `"${installedVersion()}"`);
}

export interface ServeClientOptions {
  /** The engine's path. @default "/socket.io" */
  path?: string;
  /** Origins whose pages may load it as a module, `*` for all. @default none besides the server's own */
  origins?: readonly string[];
}

/**
 * Serves the client's bundle (`/socket.io/socket.io.js`, `socket.io.min.js`, `socket.io.esm.min.js`, …) on an app of
 * yours, as socket.io's option `serveClient` does on node:http. Call it before the app listens.
 */
export function serveClient(app: TemplatedApp, { path = '/socket.io', origins }: ServeClientOptions = {}): void {
  const files = addClientBundle(new StaticFiles(), `${path.replace(/\/$/, '')}/`);
  const cors = new Cors(origins);
  for (const file of files.paths) {
    const serve = (res: HttpResponse, req: HttpRequest) => {
      files.serve(res, req, cors.headersFor(req.getHeader('origin')));
    };
    app.get(file, serve).head(file, serve);
  }
}
