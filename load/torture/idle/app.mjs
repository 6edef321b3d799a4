// An application that knows nothing of gjallar. `/busy` keeps its event loop busy, as work of its own would.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const BUSY_MS = 200;

const http = createServer((request, response) => {
  if (request.url === '/busy') {
    const end = performance.now() + BUSY_MS;
    while (performance.now() < end);
  }
  if (request.url === '/stream') {
    response.write('o');
    setImmediate(() => response.end('k'));
  } else if (request.method === 'POST') {
    request.resume().on('end', () => response.end('ok'));
  } else response.end('ok');
});
new Server(http);
http.listen(0, '127.0.0.1');
