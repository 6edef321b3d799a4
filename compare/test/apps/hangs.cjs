// Listens, and ends with no signal that it can ignore. Its child does, too.
const { spawn } = require('node:child_process');
const { createServer } = require('node:http');
const { writeFileSync } = require('node:fs');
const { Server } = require('socket.io');

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
const server = createServer();
const io = new Server(server);
// The client waits for an acknowledgement that never comes, so that the test has the time.
io.on('connection', (socket) => socket.on('forever', () => {}));
server.listen(process.env.PORT, '127.0.0.1', () => {
  writeFileSync(process.env.PIDS, `${process.pid} ${child.pid}`);
});
