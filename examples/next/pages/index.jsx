import { useEffect, useRef, useState } from 'react';
import { io } from 'socket.io-client';

export default function Home() {
  const [isConnected, setConnected] = useState(false);
  const [texts, setTexts] = useState([]);
  const socket = useRef(undefined);
  useEffect(() => {
    const connection = io();
    socket.current = connection;
    connection.on('connect', () => setConnected(true));
    connection.on('disconnect', () => setConnected(false));
    connection.on('said', (text) => setTexts((earlier) => [...earlier, { id: earlier.length, text }]));
    return () => void connection.disconnect();
  }, []);
  const say = (form) => socket.current?.emit('say', form.get('text'));
  return (
    <main>
      <form action={say}>
        <input name="text" aria-label="Text" required />
        <button type="submit" disabled={!isConnected}>
          Say
        </button>
      </form>
      <ul>
        {texts.map(({ id, text }) => (
          <li key={id}>{text}</li>
        ))}
      </ul>
    </main>
  );
}
