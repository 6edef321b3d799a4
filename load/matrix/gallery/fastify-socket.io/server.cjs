const fastify = require('fastify')();
const chat = require('./chat.cjs');

fastify.register(require('fastify-socket.io').default, { cors: { origin: '*' } });
fastify.get('/about', async () => ({ fastify: true }));
fastify.ready().then(() => chat(fastify.io));
fastify.listen({ port: Number(process.env.PORT), host: process.env.HOST });
