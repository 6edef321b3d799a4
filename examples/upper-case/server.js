// Sends a welcome to each client, and returns every message in upper case. Load clients fetch their task from /scenario.
// README.md says how to run it.

import { App, createAdapter, Engine, parser } from 'gjallar';
import { Server } from 'socket.io';

const scenario = { clients: 64_000, everySeconds: 25, send: 'thirty characters, more or less', expect: 'upper case' };

const app = App();
const engine = new Engine().attach(app);
const io = new Server({ adapter: createAdapter(engine), parser }).bind(engine);

io.on('connection', (socket) => {
  socket.emit('welcome', `Welcome, ${socket.id}!`);
  socket.on('message', (text) => socket.emit('message', String(text).toUpperCase()));
});

app.get('/scenario', (res) => res.writeHeader('Content-Type', 'application/json').end(JSON.stringify(scenario)));
const port = Number(process.env.PORT ?? 3000);
app.listen('127.0.0.1', port, (socket) =>
  console.log(socket ? `listening on ${port}` : `cannot listen on port ${port}: it is in use; set PORT to a free one`),
);
