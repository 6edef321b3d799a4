// Streams the answers of a language model into durable rooms, one for each answer. A page that is reloaded, a second tab and
// a client that was offline read the answer from its room, and go on with the tokens that still come.
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Server } from 'gjallar';
import { createDurableRooms } from 'gjallar/history';
import { tokensOf } from './model.js';

const MAX_PROMPT_CHARACTERS = 4000;
const MAX_ANSWER_CHARACTERS = 50_000;
const MAX_ANSWER_MS = 120_000;
/** How many answers one reader may wait for, on each worker. */
const MAX_ANSWERS = 3;
/** How many answers one worker streams at a time. */
const MAX_RUNNING = 200;

const page = readFileSync(new URL('index.html', import.meta.url));
const http = createServer((request, response) => {
  if (request.url === '/') response.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
  else response.writeHead(404).end();
});
const io = new Server(http);
const answers = await createDurableRooms(io, {
  rooms: 'answer:*',
  dataDir: process.env.DATA_DIR ?? './data',
  mayJoin: (socket, room) => isOf(socket.data.reader, room),
});
// By a prefix, a reader `ada` could read the answers of `ada:x`. The id at the end has no colon.
const isOf = (reader, room) => typeof room === 'string' && room.slice(0, room.lastIndexOf(':')) === `answer:${reader}`;
/** What stops each running answer, by its room. */
const running = new Map();

// The page makes up a key, which is all that it is known by. With accounts, take the user of the session or token.
io.use((socket, next) => {
  const { key } = socket.handshake.auth;
  if (typeof key !== 'string' || key.length < 20 || key.length > 100) return next(new Error('Send a key.'));
  socket.data.reader = createHash('sha256').update(key).digest('base64url');
  next();
});

io.on('connection', (socket) => {
  const { reader } = socket.data;
  socket.on('ask', (prompt, reply) => {
    if (typeof reply !== 'function') return;
    const reject = (code, message) => reply({ ok: false, code, message });
    if (typeof prompt !== 'string' || !(prompt.length > 0 && prompt.length <= MAX_PROMPT_CHARACTERS)) {
      return reject('BAD_INPUT', `Send a question of 1 to ${MAX_PROMPT_CHARACTERS} characters.`);
    }
    if (running.size >= MAX_RUNNING)
      return reject('OVERLOADED', 'Too many answers are being written. Ask again later.');
    if ([...running.keys()].filter((room) => isOf(reader, room)).length >= MAX_ANSWERS) {
      return reject('TOO_MANY_ANSWERS', `You wait for ${MAX_ANSWERS} answers. Cancel one, or wait for its end.`);
    }
    const room = `answer:${reader}:${randomUUID()}`;
    answer(room, prompt);
    reply({ ok: true, room });
  });
  socket.on('cancel', (room) => {
    if (!isOf(reader, room)) return;
    cancel(room);
    // Another worker may have been asked.
    io.serverSideEmit('cancel', room);
  });
});

io.on('cancel', cancel);

function cancel(room) {
  running.get(room)?.abort('cancelled');
}

async function answer(room, prompt) {
  const stop = new AbortController();
  running.set(room, stop);
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(MAX_ANSWER_MS)]);
  let end = 'complete';
  let length = 0;
  let text = '';
  let keeping;
  // What comes while one message is kept becomes the next one.
  const keep = async () => {
    while (text) {
      const piece = text;
      text = '';
      await answers.to(room).emit('text', piece);
    }
    keeping = undefined;
  };
  try {
    for await (const token of tokensOf(prompt, signal)) {
      length += token.length;
      if (length > MAX_ANSWER_CHARACTERS) throw new Error('The answer is too long.');
      text += token;
      keeping ??= keep().catch((error) => stop.abort(error));
    }
    await keeping;
    signal.throwIfAborted();
  } catch (error) {
    end = signal.reason === 'cancelled' ? 'cancelled' : 'failed';
    if (end === 'failed') console.error('An answer has failed:', error);
    await keeping;
  }
  running.delete(room);
  await answers
    .to(room)
    .emit('end', end)
    .catch((error) => console.error('The end of an answer is not kept:', error));
}

const port = Number(process.env.PORT ?? 3000);
http.listen(port, () => console.log(`listening on ${port}`));
