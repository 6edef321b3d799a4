import { GjallarError } from '../../base/errors.js';
import { packagePath } from '../../base/package.js';
import type { HttpHost } from '../../engine/http/guarded-requests.js';
import { routeHttp } from '../../engine/routes.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { addClientBundle, addHelper, HELPER, pageBundles } from '../../io/http/client-bundle.js';
import { type Cors, dataHeaders, pageHeaders } from '../../io/http/headers.js';
import { sendFailure } from '../../io/http/json.js';
import { StaticFiles } from '../../io/http/static-files.js';

export interface PagesOptions {
  cors: Cors;
  /** Whether the app is an SSLApp. */
  secure: boolean;
  /** Whether the demo page is among the files, and not only the helper for the application's own pages. */
  demoPage: boolean;
}

/** Serves the demo page and the client's bundle, and answers 404 on all other paths without a route. */
export function servePages(app: TemplatedApp, host: HttpHost, { cors, secure, demoPage }: PagesOptions): void {
  const isServed = (name: string) => demoPage || name === HELPER;
  const files = new StaticFiles().add('/', packagePath('public'), isServed);
  addHelper(addClientBundle(files, '/socket.io/', pageBundles), '/socket.io/');
  const forPages = pageHeaders(secure);
  const forData = dataHeaders(secure);
  routeHttp(app, host, {
    pattern: '/*',
    secure,
    handle: (exchange) => {
      const { method, headers } = exchange.request;
      const isRead = method === 'GET' || method === 'HEAD';
      if (isRead && files.serve(exchange, { ...forPages, ...cors.headersFor(headers.origin) })) return;
      sendFailure(exchange, forData, new GjallarError('NOT_FOUND'));
    },
  });
}
