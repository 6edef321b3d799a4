import type { HttpRequest } from 'uWebSockets.js';

/** Passes a request for a WebSocket on to those who answer such. Returns whether it was one. */
export function yieldsToWebSockets(req: HttpRequest): boolean {
  const isUpgrade = req.getHeader('upgrade') !== '';
  if (isUpgrade) req.setYield(true);
  return isUpgrade;
}
