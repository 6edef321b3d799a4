import { useEffect, useState } from 'react';
import { io } from 'socket.io-client';

export default function Home() {
  const [said, setSaid] = useState('nothing');
  useEffect(() => {
    let socket;
    fetch('/api/socket').then(() => {
      socket = io({ path: '/api/socket.io/' });
      socket.on('said', setSaid);
      socket.emit('join', 'page', () => socket.emit('say', 'page', 'from the page'));
    });
    return () => void socket?.disconnect();
  }, []);
  return <p id="said">{said}</p>;
}
