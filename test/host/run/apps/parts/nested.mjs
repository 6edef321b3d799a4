// Starts a program that uses node:cluster itself.
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Server } from 'socket.io';

const server = createServer();
new Server(server);
server.listen(0, '127.0.0.1', () => {
  fork(fileURLToPath(new URL('jobs.mjs', import.meta.url))).once('exit', (code) =>
    console.log(`the jobs have ended: ${code}`),
  );
});
