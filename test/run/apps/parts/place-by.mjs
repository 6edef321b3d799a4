// Finds the key of a client in a header.
import { createServer } from 'node:http';
import { Server } from 'gjallar';

const http = createServer();
new Server(http, { placeBy: ({ headers }) => headers['x-room'] });
http.listen(0, '127.0.0.1');
