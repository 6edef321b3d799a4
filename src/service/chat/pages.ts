import { readFileSync } from 'node:fs';
import { GjallarError } from '../../base/errors.js';
import { homepage, packagePath } from '../../base/package.js';
import { thisProcess } from '../../base/process.js';
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

/**
 * Serves the demo page and the client's bundle, and answers 404 on all other paths without a route: browsers get a page that
 * says where to go.
 */
export function servePages(app: TemplatedApp, host: HttpHost, { cors, secure, demoPage }: PagesOptions): void {
  const isServed = (name: string) => demoPage || name === HELPER;
  const files = new StaticFiles().add('/', packagePath('public'), isServed);
  addHelper(addClientBundle(files, '/socket.io/', pageBundles), '/socket.io/');
  // Relative, so that they work behind a proxy that puts a prefix before the path.
  const moved: Readonly<Record<string, string>> = {
    '/live': 'live.html',
    '/docs': homepage ?? 'help.html#documentation',
  };
  const missing = readFileSync(packagePath('public/missing.html'));
  const forPages = pageHeaders(secure);
  const forData = dataHeaders(secure);
  routeHttp(app, host, {
    pattern: '/*',
    secure,
    handle: (exchange) => {
      const { method, headers, url } = exchange.request;
      const isRead = method === 'GET' || method === 'HEAD';
      if (isRead && files.serve(exchange, { ...forPages, ...cors.headersFor(headers.origin) })) return;
      const path = url.split('?', 1)[0]!;
      if (isRead && demoPage && Object.hasOwn(moved, path)) {
        return exchange.send(302, { ...forPages, Location: moved[path]! }, '');
      }
      if (!isRead || !/\btext\/html\b/.test(String(headers.accept))) {
        return sendFailure(exchange, forData, new GjallarError('NOT_FOUND'));
      }
      thisProcess.reports.rejected('NOT_FOUND', exchange.request);
      exchange.send(404, { ...forPages, 'Content-Type': 'text/html; charset=utf-8' }, missing);
    },
  });
}
