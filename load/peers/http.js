// HTTP alone, set up as in the documentation of node:http or of uWebSockets.js, with what the benchmark `http` asks for.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { ready, settings } from './support/control.js';

/** By path, with the headers that a browser needs. */
const answers = {
  '/healthz': { type: 'application/json', body: '{"ok":true}\n' },
  '/': { type: 'text/html; charset=utf-8', body: readFileSync(new URL('../../public/index.html', import.meta.url)) },
};

if (settings.base === 'uws') {
  const { app, listen } = await import('./support/uws.js');
  for (const [path, { type, body }] of Object.entries(answers)) {
    app.get(path, (res) => res.writeHeader('Content-Type', type).end(body));
  }
  listen();
} else {
  const server = createServer((request, response) => {
    const answer = answers[request.url];
    if (!answer) return response.writeHead(404).end();
    response.writeHead(200, { 'Content-Type': answer.type, 'Content-Length': answer.body.length }).end(answer.body);
  });
  server.listen({ host: settings.host, port: 0, backlog: 4096 }, () => ready(server.address().port));
}
