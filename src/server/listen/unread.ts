import type { HttpResponse, TemplatedApp } from '../../sockets.js';
import { hasSuggestedNode, suggestNode } from '../warn.js';

/**
 * Reports the first connection that ends before uWebSockets.js has read a request on it. uWebSockets.js answers and closes
 * such connections itself, for example for HTTP/1.0. Call it before other filters, which may close connections.
 * @param isEnding whether all connections are being closed
 */
export function reportUnread(app: TemplatedApp, isEnding: () => boolean): void {
  const report = () => {
    if (!isEnding()) suggestNode('A connection has ended before a request on it was read.');
  };
  const onConnection = (res: HttpResponse, change: number): void => {
    // The handler of the first request replaces it.
    if (change > 0 && !hasSuggestedNode()) res.onAborted(report);
  };
  app.filter(onConnection);
}
