import { createServer } from 'node:http';
import { Server } from 'gjallar';

const server = createServer();
const io = new Server(server);

io.on('connection', (socket) => {
  socket.on('join', (room) => socket.join(room));
  socket.on('say', (room, text) => io.to(room).emit('said', text));
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`listening on ${port}`));
