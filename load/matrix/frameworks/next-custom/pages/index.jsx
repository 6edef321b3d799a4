import { useEffect, useState } from 'react';
import { io } from 'socket.io-client';

export default function Home() {
  const [said, setSaid] = useState('nothing');
  const [count, setCount] = useState(0);
  useEffect(() => {
    const socket = io();
    socket.on('said', setSaid);
    socket.emit('join', 'page', () => socket.emit('say', 'page', 'from the page'));
    return () => void socket.disconnect();
  }, []);
  return (
    <main>
      <h1 id="title">before the edit</h1>
      <p id="said">{said}</p>
      <button id="count" type="button" onClick={() => setCount(count + 1)}>
        {count}
      </button>
    </main>
  );
}
