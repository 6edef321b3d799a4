import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { clientFiles } from '../compat/socket-io-server.js';
import type { Engine } from '../engine/engine.js';
import type { EngineRequest } from '../engine/request.js';

/** Handles a request on a uWebSockets.js app. */
export type Handler = (res: HttpResponse, req: HttpRequest) => void;

/** Where an engine answers beside an application's own requests. */
export class EngineRoute {
  /** What the URLs of the engine begin with. */
  readonly prefix: string;

  /**
   * @param path the engine's path, without a slash at its end
   * @param servesClient whether the application's http.Server answers the requests for files of the client
   */
  constructor(
    readonly engine: Engine,
    private readonly path: string,
    private readonly addTrailingSlash: boolean,
    private readonly servesClient: boolean,
  ) {
    this.prefix = addTrailingSlash ? `${path}/` : path;
  }

  /** Whether a request is the engine's. As in engine.io, everything below the path is. */
  matches(url: string): boolean {
    if (!url.startsWith(this.prefix)) return false;
    return !(this.servesClient && clientFiles.has(url.slice(this.path.length + 1).split('?', 1)[0]!));
  }

  /**
   * Has the engine answer on an app.
   * @param other takes requests for files of the client
   * @param readRequest makes a request of the engine, where it is not what uWebSockets.js reads
   */
  attach(
    app: TemplatedApp,
    other?: Handler,
    readRequest?: (res: HttpResponse, req: HttpRequest) => EngineRequest,
  ): void {
    const { engine, path, addTrailingSlash } = this;
    engine.attach(app, { path, addTrailingSlash, below: true, readRequest });
    if (other && this.servesClient) for (const file of clientFiles) app.any(`${path}/${file}`, other);
  }
}
