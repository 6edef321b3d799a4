// `tsc --strict` must accept it; what it prints is run.

import { createServer } from 'node:http';
import { type DefaultEventsMap, Server, type Socket } from 'socket.io';

interface ToServer {
  add: (a: number, b: number, done: (sum: number) => void) => void;
  join: (room: string, done: (rooms: string[]) => void) => void;
}
interface ToClient {
  joined: (room: string, name: string) => void;
  question: (text: string, done: (answer: string) => void) => void;
}
interface UserData {
  name: string;
}
type UserSocket = Socket<ToServer, ToClient, DefaultEventsMap, UserData>;

const server = createServer();
const io = new Server<ToServer, ToClient, DefaultEventsMap, UserData>(server, { transports: ['websocket', 'polling'] });
io.use((socket: UserSocket, next) => {
  socket.data.name = String(socket.handshake.auth.name);
  next();
});
io.on('connection', (socket) => {
  socket.on('add', (a, b, done) => done(a + b));
  socket.on('join', async (room, done) => {
    await socket.join(room);
    const answers: string[] = await io.to(room).timeout(5000).emitWithAck('question', 'there?');
    io.to(room).emit('joined', room, socket.data.name);
    done(answers.sort());
  });
});
server.listen(Number(process.env.PORT), process.env.HOST);
