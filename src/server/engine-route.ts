import { clientFiles } from '../compat/socket-io-server.js';
import type { Engine } from '../engine/engine.js';
import type { HttpRequest, HttpResponse, TemplatedApp } from '../sockets.js';

/** Handles a request on a uWebSockets.js app. */
export type Handler = (res: HttpResponse, req: HttpRequest) => void;

/** The path of an engine beside the application's own requests. */
export class EngineRoute {
  /** The prefix of the engine's URLs. */
  private readonly prefix: string;

  /**
   * @param path the engine's path, without a trailing slash
   * @param servesClient whether the application's http.Server answers the requests for the client bundle
   */
  constructor(
    readonly engine: Engine,
    private readonly path: string,
    private readonly addTrailingSlash: boolean,
    private readonly servesClient: boolean,
  ) {
    this.prefix = addTrailingSlash ? `${path}/` : path;
  }

  /** Whether a request is for the engine. As in engine.io, that includes everything below the path. */
  matches(url: string): boolean {
    if (!url.startsWith(this.prefix)) return false;
    return !(this.servesClient && clientFiles.has(url.slice(this.path.length + 1).split('?', 1)[0]!));
  }

  /**
   * Adds the engine to an app.
   * @param other handles the requests for the client bundle
   */
  attach(app: TemplatedApp, other?: Handler): void {
    const { engine, path, addTrailingSlash } = this;
    engine.attach(app, { path, addTrailingSlash, below: true });
    if (other && this.servesClient) for (const file of clientFiles) app.any(`${path}/${file}`, other);
  }
}
