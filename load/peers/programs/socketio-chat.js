// The chat that gjallar's service is, as far as the benchmarks use it, on stock socket.io: the same events and the same
// fields. Its nodes are joined as socket.io's documentation of its adapters says. With HISTORY=redis each message is written to
// the conversation's stream before it is acknowledged and delivered, as gjallar does.

import { createServer } from 'node:http';
import { createAdapter as createRedisAdapter } from '@socket.io/redis-adapter';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';

const { HOST, PORT, REDIS_URL, HISTORY } = process.env;
const KEPT = 100_000;

const server = createServer(post);
const redis = REDIS_URL && new Redis(REDIS_URL);
const io = new Server(server, redis && { adapter: createRedisAdapter(redis, redis.duplicate()) });
const keeps = HISTORY === 'redis';

/** Resolves with the message's offset once it is in the stream. */
async function keep(conversation, { from, text, at }) {
  if (!keeps) return {};
  const offset = await redis.incr(`offset:${conversation}`);
  await redis.xadd(`log:${conversation}`, 'MAXLEN', '~', KEPT, '*', 'o', offset, 'f', from, 't', text, 'a', at);
  return { offset };
}

/** `POST /api/rooms/:room/messages`, as gjallar has it. */
async function post(request, response) {
  const [, room] = /^\/api\/rooms\/([^/]+)\/messages$/.exec(request.url) ?? [];
  if (request.method !== 'POST' || !room) return response.writeHead(404).end();
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { text } = JSON.parse(Buffer.concat(chunks).toString());
  const message = { room, from: 'api', text, at: Date.now() };
  const position = await keep(room, message);
  io.to(`room:${room}`).emit('message', { ...message, ...position });
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ ok: true, ...position }));
}

io.use((socket, next) => {
  socket.data.name = socket.handshake.auth.name ?? `guest-${socket.id.slice(0, 8)}`;
  next();
});

io.on('connection', (socket) => {
  const from = socket.data.name;
  socket.join(`user:${from}`);

  socket.on('join', (room, reply) => {
    socket.join(`room:${room}`);
    reply?.({ ok: true, room });
  });

  socket.on('message', async ({ room, text }, reply) => {
    const message = { room, from, text, at: Date.now() };
    const position = await keep(room, message);
    io.to(`room:${room}`).emit('message', { ...message, ...position });
    reply?.({ ok: true, ...position });
  });

  socket.on('direct', async ({ to, text }, reply) => {
    const message = { from, to, text, at: Date.now() };
    const position = await keep([from, to].sort().join(':'), message);
    io.to([`user:${from}`, `user:${to}`]).emit('direct', { ...message, ...position });
    reply?.({ ok: true, ...position });
  });
});

server.listen(Number(PORT), HOST, () => console.log(`socket.io listens on http://${HOST}:${server.address().port}`));
