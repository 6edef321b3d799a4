// An application that knows nothing of gjallar. Each number that it is sent goes to a room that all clients are in and, if asked,
// to each socket of the worker alone. The answer names these sockets. A client gets back the numbers that it says.
import { createServer } from 'node:http';
import express from 'express';
import { Server } from 'socket.io';

/** What a worker sends leaves it within a window of a few ms. What is confirmed later than that must not be lost. */
const CONFIRM_MS = 30;

const app = express();
app.get('/probe', (_request, response) => response.json(true));
app.get('/', ({ query }, response) => announce(Number(query.number), 'own' in query, (ids) => response.json(ids)));

const http = createServer(app);
const io = new Server(http, process.env.RECOVERY === 'on' ? { connectionStateRecovery: {} } : {});

function announce(number, isOwn, confirm) {
  const sockets = isOwn ? [...io.of('/').sockets.values()] : [];
  io.to('room').emit('number', number, process.pid);
  for (const socket of sockets) socket.emit('own', number, process.pid);
  setTimeout(() => confirm(sockets.map(({ id }) => id)), CONFIRM_MS);
}

io.on('connection', (socket) => {
  if (!socket.recovered) socket.join('room');
  socket.on('say', (number) => socket.emit('said', number));
});
process.on('SIGUSR2', () => process.exit(3));
http.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
