import { io } from 'socket.io-client';
import { title } from './title.js';

const show = (id, text) => {
  document.getElementById(id).textContent = text;
};
show('title', title);
const socket = io();
socket.on('said', (text) => show('said', text));
socket.emit('join', 'page', () => socket.emit('say', 'page', 'from the page'));
document.getElementById('count').onclick = ({ target }) => show('count', Number(target.textContent) + 1);
import.meta.hot.accept('./title.js', (changed) => show('title', changed.title));
