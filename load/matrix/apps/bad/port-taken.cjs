const { createServer } = require('node:http');
const { Server } = require('socket.io');

const before = createServer().listen(process.env.PORT, process.env.HOST, () => {
  const server = createServer();
  const io = new Server(server);
  server.once('error', ({ code, syscall, port }) => {
    console.log('error:', code, syscall, port);
    before.close();
    io.close();
  });
  server.listen(process.env.PORT, process.env.HOST);
});
