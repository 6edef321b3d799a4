import Fastify from 'fastify';
import { Server } from 'gjallar';

const app = Fastify();
const io = new Server(app.server);

// An HTTP request reaches the sockets.
app.post('/say', async (request, reply) => {
  io.emit('said', request.body.text);
  return reply.code(202).send();
});

io.on('connection', (socket) => socket.emit('said', 'Welcome!'));
// Fastify closes its server when no connection is left, so the sockets go first.
app.addHook('preClose', () => io.close());

const port = Number(process.env.PORT ?? 3000);
await app.listen({ port });
console.log(`listening on ${port}`);
