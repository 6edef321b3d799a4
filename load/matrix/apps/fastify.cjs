const fastify = require('fastify');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

const app = fastify({ bodyLimit: 5_000_000 });
app.get('/about', async ({ ip, protocol, hostname, method, url, query }) => ({
  ip,
  protocol,
  hostname,
  method,
  url,
  query,
}));
app.post('/echo', async (request, reply) => reply.code(201).send(request.body));
app.get('/broken', async () => {
  throw Object.assign(new Error('broken'), { statusCode: 503 });
});
chat(new Server(app.server));
app.listen({ port: Number(process.env.PORT), host: process.env.HOST });
