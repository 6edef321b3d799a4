const { createServer } = require('node:http');
const Koa = require('koa');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

const app = new Koa();
app.silent = true;
app.use(async (context) => {
  if (context.path === '/broken') context.throw(503, 'broken');
  if (context.path === '/echo') {
    const parts = [];
    for await (const part of context.req) parts.push(part);
    context.status = 201;
    context.type = 'json';
    context.body = Buffer.concat(parts);
  }
  if (context.path !== '/about') return;
  const { ip, protocol, host, method, path, query } = context;
  context.cookies.set('seen', 'yes');
  context.body = { ip, protocol, hostname: host.split(':')[0], method, path, query };
});
const server = createServer(app.callback());
chat(new Server(server));
server.listen(process.env.PORT, process.env.HOST);
