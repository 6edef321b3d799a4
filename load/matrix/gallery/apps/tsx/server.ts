import { createServer } from 'node:http';
import { type DefaultEventsMap, Server, type Socket } from 'socket.io';
import chat from './chat.cjs';

enum Level {
  Low = 1,
  High,
}
interface Events {
  level: (done: (level: Level) => void) => void;
}
class Application {
  constructor(private readonly io: Server<Events & DefaultEventsMap>) {
    io.on('connection', (socket: Socket<Events>) => socket.on('level', (done) => done(Level.High)));
    chat(this.io);
  }
}
const server = createServer((_, response) => response.end('TypeScript'));
new Application(new Server(server));
server.listen(Number(process.env.PORT), process.env.HOST);
