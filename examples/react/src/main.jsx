import { useDurableRoom, usePresence, useStateMap } from 'gjallar/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { io } from 'socket.io-client';

const name = new URLSearchParams(location.search).get('name') ?? `Guest ${Math.floor(1000 * Math.random())}`;
const socket = io({ auth: { name } });

function Lunch() {
  const { values } = useStateMap(socket, 'votes');
  const { users, members } = usePresence(socket, 'lunch');
  const { messages, isComplete } = useDurableRoom(socket, 'talk:lunch', { last: 20 });

  function say(event) {
    event.preventDefault();
    const field = event.currentTarget.elements.text;
    socket.emit('say', field.value);
    field.value = '';
  }

  return (
    <main>
      <h1>Lunch</h1>
      <p data-testid="users">
        {members}: {[...users.keys()].join(', ')}
      </p>
      <ul>
        {[...values].map(([dish, votes]) => (
          <li key={dish}>
            <button type="button" onClick={() => socket.emit('vote', dish)}>
              {dish}: {votes}
            </button>
          </li>
        ))}
      </ul>
      <ol>
        {messages.map(({ offset, values: [from, text] }) => (
          <li key={offset}>
            {from}: {text}
          </li>
        ))}
      </ol>
      {isComplete || <p>Some messages are lost.</p>}
      <form onSubmit={say}>
        <label>
          Message <input name="text" maxLength={200} required />
        </label>
      </form>
    </main>
  );
}

createRoot(document.getElementById('root')).render(
  <StrictMode>
    <Lunch />
  </StrictMode>,
);
