// A notice board with events of its own, for clients that exist already. Notices are kept in a file, and reach every reader of a
// board once and in order. README.md says how to run it.
import { createServer } from 'node:http';
import { GjallarError, Server } from 'gjallar';
import { enterKeptRoom, openConversations, SqliteHistoryStore } from 'gjallar/history';

const http = createServer();
const io = new Server(http);
const store = await SqliteHistoryStore.open({ dataDir: process.env.DATA_DIR ?? './data', ttlMs: 7 * 24 * 3_600_000 });
setInterval(() => store.trim(Date.now()).catch(console.error), 60_000).unref();

const isBoard = (room) => typeof room === 'string' && /^board:\w{1,30}$/.test(room);
const notice = ({ from, text, at, offset, tag }) => ({ from, text, at, offset, tag });
const boards = openConversations(io, {
  store,
  hasRoom: (room) => io.of('/').adapter.rooms.has(room),
  hasUser: () => false,
  deliver: ({ room }, message) => io.local.to(room).emit('notice', room, notice(message)),
});

/** What clients ask for. Each answer has the position from which on they miss nothing. */
const requests = {
  async open(socket, { board }) {
    if (!isBoard(board)) throw new GjallarError('BAD_ROOM', 'Send the name of a board, such as "board:lost".');
    return enterKeptRoom(socket, board, { isKept: isBoard, maxRooms: 20, follow: () => boards.follow(board) });
  },
  async pin(socket, { board, text }) {
    if (!socket.rooms.has(board)) throw new GjallarError('NOT_IN_ROOM');
    if (typeof text !== 'string' || text.length > 1000) throw new GjallarError('BAD_TEXT');
    const message = { from: socket.data.name, text, at: Date.now() };
    const [position] = await boards.post({ room: board }, [message], { client: socket.conn });
    return position;
  },
  async read(socket, { board, after }) {
    if (!socket.rooms.has(board)) throw new GjallarError('NOT_IN_ROOM');
    if (!Number.isSafeInteger(after) || after < 0) throw new GjallarError('BAD_PAGE');
    const { messages, ...page } = await boards.read({ room: board }, { after, limit: 100 }, socket.conn);
    return { ...page, notices: messages.map(notice) };
  },
};

io.on('connection', (socket) => {
  socket.data.name = String(socket.handshake.auth.name ?? 'guest').slice(0, 50);
  for (const [event, answer] of Object.entries(requests)) {
    socket.on(event, async (input, reply) => {
      if (typeof reply !== 'function') return;
      try {
        reply({ ok: true, ...(await answer(socket, input ?? {})) });
      } catch ({ code = 'INTERNAL', message }) {
        reply({ ok: false, code, message });
      }
    });
  }
});

const port = Number(process.env.PORT ?? 3000);
http.listen(port, () => console.log(`listening on ${port}`));
