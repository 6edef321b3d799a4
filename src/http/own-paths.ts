import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';

/** Answers GET and HEAD on a path that a plain WebSocket may be meant for too: requests for one are passed on. */
export function onRead(app: TemplatedApp, path: string, answer: (res: HttpResponse, req: HttpRequest) => void): void {
  const handler = (res: HttpResponse, req: HttpRequest) => {
    if (req.getHeader('upgrade') !== '') req.setYield(true);
    else answer(res, req);
  };
  app.get(path, handler).head(path, handler);
}
