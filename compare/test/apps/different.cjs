// Does on gjallar what it does not on stock, in each way that a client can notice.
const { createServer } = require('node:http');
const { Server } = require('socket.io');

const isGjallar = process.execArgv.some((argument) => argument.includes('register'));
const server = createServer((request, response) => {
  if (request.url === '/header') response.setHeader('X-Served', isGjallar ? 'b' : 'a').end('same');
  else if (request.url === '/body') response.end(isGjallar ? 'two' : 'one');
  else response.writeHead(isGjallar ? 500 : 200).end('same');
});
const io = new Server(server);
io.of('/closed').use((_socket, next) => next(new Error(isGjallar ? 'go away' : 'closed')));
io.on('connection', (socket) => {
  socket.on('value', (reply) => reply(isGjallar ? 2 : 1, 'same'));
  socket.on('order', () => {
    for (const name of isGjallar ? ['b', 'a'] : ['a', 'b']) socket.emit(name);
  });
  socket.on('missing', () => {
    if (!isGjallar) socket.emit('here');
  });
  socket.on('silent', (reply) => {
    if (!isGjallar) reply('answer');
  });
  socket.on('end', () => (isGjallar ? socket.conn.close() : socket.disconnect()));
});
server.listen(process.env.PORT, '127.0.0.1');
