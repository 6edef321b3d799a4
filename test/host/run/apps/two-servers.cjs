// Two Socket.IO servers on ports of their own, one of them with its own ids.
const { Server } = require('socket.io');

for (const name of ['first', 'second']) {
  const io = new Server(0, { serveClient: false });
  if (name === 'second') io.engine.generateId = () => `own-${Math.random().toString(36).slice(2)}-${Date.now()}`;
  io.on('connection', (socket) => {
    socket.emit('welcome', name, process.pid, socket.conn.id);
    socket.on('say', (text) => io.emit('said', name, text));
  });
}
