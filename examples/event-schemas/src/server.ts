import { createServer } from 'node:http';
import { Server } from 'gjallar';
import { maxLength, minLength, pipe, string } from 'valibot';
import { z } from 'zod';
import { type CheckedEvents, checkEvents, type Rejection } from './checked-events.js';

// Each event may have its schema from another library.
const schemas = {
  join: pipe(string(), minLength(1), maxLength(64)),
  say: z.object({
    room: z.string().min(1).max(64),
    text: z.string().trim().min(1).max(1000),
    tags: z.array(z.string().max(20)).max(5).default([]),
  }),
};

interface ToClients {
  said(text: string, tags: string[]): void;
  rejected(event: string, rejection: Rejection): void;
}

const http = createServer();
const io = new Server<CheckedEvents<typeof schemas>, ToClients>(http);

io.on('connection', (socket) => {
  checkEvents(socket, schemas);
  socket.on('join', async (room, reply) => {
    await socket.join(room);
    reply({ ok: true });
  });
  socket.on('say', ({ room, text, tags }, reply) => {
    io.to(room).emit('said', text, tags);
    reply({ ok: true });
  });
});

const port = Number(process.env.PORT ?? 3000);
http.listen(port, () => console.log(`listening on ${port}`));
