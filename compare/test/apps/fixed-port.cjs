// Ignores PORT, as many applications do; the port is an argument only so that tests can run side by side.
const { Server } = require('socket.io');

const io = new Server(Number(process.argv[2]));
io.on('connection', (socket) => socket.on('echo', (value, reply) => reply(value, Math.random())));
