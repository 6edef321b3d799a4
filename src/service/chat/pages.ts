import { readFileSync } from 'node:fs';
import { GjallarError } from '../../base/errors.js';
import { homepage, packagePath } from '../../base/package.js';
import type { MachineWorker } from '../../host/index.js';
import type { Engine, TemplatedApp } from '../../index.js';
import {
  addClientBundle,
  addHelper,
  answerHttp,
  type Cors,
  helperModules,
  pageBundles,
  pageHeaders,
  StaticFiles,
} from '../../io/http/index.js';

export interface PagesOptions {
  cors: Cors;
  reports: MachineWorker['reports'];
  /** Whether the app is an SSLApp. */
  secure: boolean;
  /** Whether the demo page is among the files, and not only the helper for the application's own pages. */
  demoPage: boolean;
}

/**
 * Serves the demo page and the client's bundle, and answers 404 on all other paths without a route: browsers get a page that
 * says where to go.
 */
export function servePages(app: TemplatedApp, engine: Engine, { cors, reports, secure, demoPage }: PagesOptions): void {
  const isServed = (name: string) => demoPage || helperModules.test(name);
  const files = new StaticFiles().add('/', packagePath('public'), isServed);
  addHelper(addClientBundle(files, '/socket.io/', pageBundles), '/socket.io/');
  // Relative, so that they work behind a proxy that puts a prefix before the path.
  const moved: Readonly<Record<string, string>> = {
    '/live': 'live.html',
    '/docs': homepage ?? 'help.html#documentation',
  };
  const missing = readFileSync(packagePath('public/missing.html'));
  const forPages = pageHeaders(secure);
  answerHttp(app, engine, {
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
        throw new GjallarError('NOT_FOUND');
      }
      reports.rejected('NOT_FOUND', exchange.request);
      exchange.send(404, { ...forPages, 'Content-Type': 'text/html; charset=utf-8' }, missing);
    },
  });
}
