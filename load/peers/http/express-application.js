import { createServer } from 'node:http';
import express from 'express';
import { ready, settings } from '../support/control.js';

const megabyte = Buffer.alloc(1_000_000, 'x');

/**
 * An Express application beside Socket.IO on one port, as most applications of Socket.IO are. Only the Server differs.
 * @param {new (server: import('node:http').Server) => unknown} Server
 */
export function serveExpress(Server) {
  const app = express();
  app.get('/small', (_request, response) => response.json({ hello: 'world' }));
  app.get('/large', (_request, response) => response.type('application/octet-stream').send(megabyte));
  app.post('/upload', (request, response) => {
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.json({ bytes }));
  });
  const server = createServer(app);
  new Server(server);
  server.listen({ host: settings.host, port: 0, backlog: 4096 }, () => ready(server.address().port));
}
