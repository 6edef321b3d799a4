// A server without Socket.IO: the primary listens for its workers, and passes connections on.
import { createServer } from 'node:http';

createServer((_request, response) => response.end('here')).listen(0, '127.0.0.1');
