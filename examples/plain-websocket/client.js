// Joins a room of the chat service without a Socket.IO client. A line of text is a message, in both directions.
//
//   node client.js [url of the room] [text…]
import { createInterface } from 'node:readline';
// A browser, and Node.js from version 22, has WebSocket built in.
import { WebSocket } from 'ws';

const [url = 'ws://localhost:3000/hall', ...texts] = process.argv.slice(2);
const socket = new WebSocket(url);

socket.on('open', () => {
  for (const text of texts) socket.send(text);
  createInterface({ input: process.stdin }).on('line', (line) => socket.send(line));
});
socket.on('message', (data) => console.log(data.toString()));
// Before the WebSocket is open, the server answers with an HTTP status and a JSON body.
socket.on('unexpected-response', (_request, response) => {
  console.error(`the server rejected the connection with status ${response.statusCode}`);
  process.exit(1);
});
socket.on('error', ({ message }) => console.error(message));
socket.on('close', (code, reason) => {
  console.error(`closed with code ${code} ${reason}`);
  process.exit();
});
