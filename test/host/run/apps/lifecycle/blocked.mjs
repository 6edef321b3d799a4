import cluster from 'node:cluster';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server);
const { id } = cluster.worker;
const [wait, waits, goOn] = ['wait', 'waits', 'go-on'].map((name) => join(process.env.DIRECTORY, name));

function waitFor(file) {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(file)) Atomics.wait(clock, 0, 0, 10);
}

io.on('connection', (socket) => socket.on('worker', (done) => done(id)));
// The second worker does nothing from just before the last new one listens, until that has listened for a while.
if (id === 2) {
  const timer = setInterval(() => {
    if (!existsSync(wait)) return;
    clearInterval(timer);
    writeFileSync(waits, '');
    waitFor(goOn);
  }, 10);
}
if (id === 4) {
  writeFileSync(wait, '');
  waitFor(waits);
}
server.listen(0, () => {
  if (id === 4) setTimeout(() => writeFileSync(goOn, ''), 500);
});
