// What this release does after it listens is in the file that RELEASE names, which each worker reads at its start.
import cluster from 'node:cluster';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { Server } from 'socket.io';

const folder = dirname(process.env.RELEASE);
const { name, end, port = 0, later } = JSON.parse(readFileSync(process.env.RELEASE, 'utf8'));
const http = createServer((_request, response) => response.end(name));
const io = new Server(http, { connectionStateRecovery: {} });
io.on('connection', (socket) => socket.on('state', (done) => done({ pid: process.pid, release: name })));
http.listen(port, '127.0.0.1', () => {
  console.log(`${name} listens: ${process.pid}`);
  if (end === 'soon') setTimeout(() => process.exit(7), 100);
  // One of its two workers does nothing, from just after it listens until there is a file.
  if (end === 'hangs' && cluster.worker.id % 2 === 0) setTimeout(waitFor, 50, join(folder, `${name}-goes-on`));
});
// A further port comes after the first one.
if (later)
  setTimeout(
    () => new Server(createServer((_request, response) => response.end(name)).listen(later, '127.0.0.1')),
    500,
  );
process.on('message', (message) => {
  if (message.end === process.pid) process.exit(7);
});

function waitFor(file) {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(file)) Atomics.wait(clock, 0, 0, 10);
}
