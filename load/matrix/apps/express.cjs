// Express beside Socket.IO, in the version that the variable EXPRESS names.

const { createServer } = require('node:http');
const { join } = require('node:path');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');
const express = require(process.env.EXPRESS ?? 'express');

const app = express();
app.set('trust proxy', 'loopback');
app.use(express.json({ limit: '5mb' }));
app.get('/about', (request, response) => {
  const { ip, protocol, hostname, method, path, query, httpVersion, originalUrl } = request;
  response
    .cookie('seen', 'yes', { httpOnly: true })
    .json({ ip, protocol, hostname, method, path, query, httpVersion, originalUrl });
});
app.post('/echo', (request, response) =>
  response
    .status(201)
    .set('X-Length', String(JSON.stringify(request.body).length))
    .json(request.body),
);
app.get('/stream', (_request, response) => {
  response.type('text/event-stream').write('data: 1\n\n');
  setImmediate(() => response.end('data: 2\n\n'));
});
app.get('/moved', (_request, response) => response.redirect('/about'));
app.get('/broken', () => {
  throw Object.assign(new Error('broken'), { status: 503, expose: true });
});
app.get('/page', (_request, response) => response.sendFile(join(__dirname, 'chat.cjs')));
app.use((error, _request, response, _next) => response.status(error.status ?? 500).json({ error: error.message }));
const server = createServer(app);
chat(new Server(server, { cors: { origin: 'https://example.com', credentials: true } }));
server.listen(process.env.PORT, process.env.HOST);
