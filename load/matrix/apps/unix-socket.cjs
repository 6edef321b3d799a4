const { createServer } = require('node:http');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { connect, createServer: createProxy } = require('node:net');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

// The port of the test leads to the Unix socket, as a proxy does.
const folder = mkdtempSync(join(tmpdir(), 'matrix-'));
const path = join(folder, 'socket');
process.on('exit', () => rmSync(folder, { recursive: true }));
process.on('SIGTERM', () => process.exit(0));
const server = createServer((_request, response) => response.end('served'));
chat(new Server(server));
server.listen(path, () => {
  console.log('address:', server.address() === path);
  createProxy((socket) => {
    const through = connect(path);
    socket.pipe(through).pipe(socket);
    for (const end of [socket, through]) end.on('error', () => end.destroy());
  }).listen(process.env.PORT, process.env.HOST);
});
