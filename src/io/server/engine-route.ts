import type { Engine } from '../../engine/engine.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { serveBundle } from '../http/client-bundle.js';
import { clientFiles } from '../socket-io-server.private.js';

/** The path of an engine beside the application's own requests. */
export class EngineRoute {
  /** The prefix of the engine's URLs. */
  private readonly prefix: string;

  /**
   * @param path the engine's path, without a trailing slash
   * @param servesClient whether requests for the client bundle are answered
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

  /** Adds the engine to an app. */
  attach(app: TemplatedApp): void {
    const { engine, path, addTrailingSlash } = this;
    engine.attach(app, { path, addTrailingSlash, below: true });
  }

  /** Adds the client bundle to an app, with gjallar's helper; or the helper alone. */
  serveClient(app: TemplatedApp, serve = serveBundle): void {
    if (this.servesClient) serve(app, this.path, this.engine.settings.cors);
  }
}
