// An application with shutdown code of its own, which speaks with its parent process.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const http = createServer((_request, response) => response.end(process.argv.slice(2).join(' ')));
new Server(http);
http.listen(0, '127.0.0.1', () => process.send({ hello: process.pid }));
process.on('message', (message) => process.send({ heard: message, by: process.pid }));
process.on('SIGTERM', () => {
  console.log(`closing ${process.pid}`);
  process.exit(0);
});
