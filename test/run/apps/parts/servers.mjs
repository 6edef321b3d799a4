// Lets clients list the servers, and emit to some of them.
import { createServer } from 'node:http';
import { listServers, serverSideEmitTo } from 'gjallar';
import { Server } from 'socket.io';

const http = createServer();
const io = new Server(http);
const heard = [];

io.on('connection', (socket) => {
  socket.on('servers', async (name, done) => done(await listServers(io.of(name))));
  socket.on('tell', (name, to, ...values) => serverSideEmitTo(io.of(name), to, 'told', name, ...values));
  socket.on('told', (done) => done(heard.splice(0)));
  // Behind all that this worker has emitted before: one answer from each other worker.
  socket.on('fence', (name, done) => io.of(name).serverSideEmit('fence', (error) => done(error?.message)));
  socket.on('crash', () => process.kill(process.pid, 'SIGKILL'));
});
for (const name of ['/', '/custom']) {
  io.of(name).on('told', (...values) => heard.push(values));
  io.of(name).on('fence', (done) => done());
}
http.listen(0);
