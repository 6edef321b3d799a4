// Stock Express and Socket.IO, as in many tutorials.
import { createServer } from 'node:http';
import express from 'express';
import { Server } from 'socket.io';

const app = express();
app.get('/pid', (_req, res) => res.json({ pid: process.pid }));
app.get('/slow', (_req, res) => setTimeout(() => res.end('slow'), Number(process.env.SLOW_MS ?? 0)));
const http = createServer(app);
const io = new Server(http, { pingInterval: 20_000 });
io.on('connection', (socket) => {
  socket.data.user = socket.handshake.auth.user;
  socket.join('all');
  socket.on('pid', (done) => done(process.pid));
  socket.on('say', (text) => io.to('all').emit('said', text));
  socket.on('count', async (done) => done((await io.in('all').fetchSockets()).length));
  socket.on('ask all', async (done) => done(await io.timeout(5000).emitWithAck('question')));
  socket.on('shout', (done) => io.serverSideEmit('shouted', (error, pids) => done(error?.message ?? pids)));
  socket.on('die', () => process.kill(process.pid, 'SIGKILL'));
  socket.on('busy', (ms, done) => {
    for (const end = Date.now() + ms; Date.now() < end; );
    done();
  });
  socket.on('throw', () => {
    throw new Error('the application has thrown');
  });
});
io.on('shouted', (done) => done(process.pid));
http.listen(Number(process.env.APP_PORT ?? 0), '127.0.0.1');
