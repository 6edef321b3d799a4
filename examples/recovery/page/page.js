// Shows every message of a room once and in order, across lost connections and restarts of the server.
import { Rooms } from 'CHAT_URL/gjallar-client.js';

const state = document.getElementById('state');
const messages = document.getElementById('messages');
const socket = globalThis.io('CHAT_URL', { auth: { name: 'Page' } });
const rooms = new Rooms(socket);

socket.on('disconnect', () => {
  state.textContent = 'Disconnected';
});

await rooms.join('hall', {
  last: 50,
  onMessage: ({ from, text }) => {
    const item = document.createElement('li');
    item.textContent = `${from}: ${text}`;
    messages.append(item);
  },
  onJoined: ({ members }) => {
    state.textContent = `${members} here`;
  },
  onRecovered: ({ complete }) => {
    if (!complete) state.textContent = 'Some messages are lost';
  },
});
