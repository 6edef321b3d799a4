import type { HttpHost } from '../../engine/http/guarded-requests.js';
import { routeHttp } from '../../engine/routes.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import type { AdminGuard } from '../../io/http/guard.js';
import { dataHeaders } from '../../io/http/headers.js';
import { sendError } from '../../io/http/json.js';

export interface MetricsOptions {
  /** The account that may read the metrics; undefined makes them public. */
  admin: AdminGuard | undefined;
  /** The metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** Whether the app is an SSLApp. */
  secure: boolean;
  /** Called with errors that the caller has not caused. */
  onError(error: unknown): void;
}

/** Answers /metrics. Call it before the app listens. */
export function serveMetrics(app: TemplatedApp, host: HttpHost, options: MetricsOptions): void {
  const { admin, metrics, secure, onError } = options;
  const headers = dataHeaders(secure);
  routeHttp(app, host, {
    pattern: '/metrics',
    secure,
    isReadOnly: true,
    handle: async (exchange) => {
      try {
        const { headers: sent, connection } = exchange.request;
        await admin?.require({ headers: sent, address: connection.remoteAddress });
        const text = await metrics();
        exchange.send(200, { ...headers, 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }, text);
      } catch (error) {
        sendError(exchange, headers, error, onError);
      }
    },
  });
}
