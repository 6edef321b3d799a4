// An https server, which keeps its port, and a plain one without Socket.IO.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { Server } from 'socket.io';

const https = createSecureServer({ key: readFileSync(process.env.KEY), cert: readFileSync(process.env.CERT) });
const io = new Server(https);
io.on('connection', (socket) => socket.on('say', (text) => io.emit('said', text)));
https.listen(Number(process.env.TLS_APP_PORT), '127.0.0.1');
createServer((_request, response) => response.end(String(process.pid))).listen(
  Number(process.env.PLAIN_APP_PORT),
  '127.0.0.1',
);
