import type { Problem } from '../../base/problems.js';
import type { HttpHost } from '../../engine/http/guarded-requests.js';
import { routeHttp } from '../../engine/routes.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import type { AdminGuard } from '../../io/http/guard.js';
import { dataHeaders } from '../../io/http/headers.js';
import { sendError, sendJson } from '../../io/http/json.js';

/** The state that the health endpoints report. */
export interface Health {
  /** Whether this worker should get new clients: only when it is ready. */
  readonly state: 'not ready' | 'ready' | 'draining';
  /** What is down. */
  readonly problems: readonly Problem[];
  /** What needs attention, although it is not down. */
  readonly warnings: readonly Problem[];
}

/** The answer to a request for /readyz. */
export function readiness({ state, problems, warnings }: Health): { status: number; body: object } {
  const ok = state === 'ready';
  return {
    status: ok ? 200 : 503,
    body: { ok, state: ok && problems.length > 0 ? 'degraded' : state, problems, warnings },
  };
}

export interface OperationsOptions {
  health(): Health;
  /** The metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** The account that may read the metrics; undefined makes them public. */
  admin: AdminGuard | undefined;
  /** Whether the app is an SSLApp. */
  secure: boolean;
  /** Called with errors that the caller has not caused. */
  onError(error: unknown): void;
}

/** Answers /healthz, /readyz and /metrics. Call it before the app listens. */
export function serveOperations(app: TemplatedApp, host: HttpHost, options: OperationsOptions): void {
  const { health, metrics, admin, secure, onError } = options;
  const headers = dataHeaders(secure);
  const base = { secure, isReadOnly: true };
  routeHttp(app, host, {
    ...{ ...base, pattern: '/healthz', isForAnyHost: true },
    handle: (exchange) => sendJson(exchange, 200, headers, { ok: true }),
  });
  routeHttp(app, host, {
    ...{ ...base, pattern: '/readyz', isForAnyHost: true },
    handle: (exchange) => {
      const { status, body } = readiness(health());
      sendJson(exchange, status, headers, body);
    },
  });
  routeHttp(app, host, {
    ...{ ...base, pattern: '/metrics' },
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
