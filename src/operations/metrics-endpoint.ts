import type { TemplatedApp } from 'uWebSockets.js';
import { readRequest } from '../engine/http/request.js';
import { UwsHttpExchange } from '../engine/uws/uws-exchange.js';
import { type Admin, requireAdmin } from '../http/guard.js';
import { dataHeaders } from '../http/headers.js';
import { sendError } from '../http/json.js';
import { onRead } from '../http/own-paths.js';

export interface MetricsOptions {
  /** Who may look; undefined lets everybody. */
  admin: Admin | undefined;
  /** The metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** Whether the app is an SSLApp. */
  secure: boolean;
  /** Told of errors that are not the caller's. */
  onError(error: unknown): void;
}

/** Answers /metrics. Call it before the app listens. */
export function serveMetrics(app: TemplatedApp, { admin, metrics, secure, onError }: MetricsOptions): void {
  const headers = dataHeaders(secure);
  onRead(app, '/metrics', (res, req) => {
    const request = readRequest(res, req, secure);
    const exchange = new UwsHttpExchange(res, request, 0);
    const answer = async () => {
      try {
        requireAdmin(request, admin);
        const text = await metrics();
        exchange.send(200, { ...headers, 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }, text);
      } catch (error) {
        sendError(exchange, headers, error, onError);
      }
    };
    void answer();
  });
}
