// The events that most applications of the matrix have. `talk` in applications.js sends them.

const OF_THE_CONNECTION = ['connection', 'date', 'keep-alive', 'transfer-encoding', 'uwebsockets'];

module.exports = function chat(io, namespace = '/') {
  const nsp = io.of(namespace);
  nsp.use((socket, next) => {
    if (socket.handshake.auth.token === 'right') next();
    else next(Object.assign(new Error('wrong token'), { data: { code: 401 } }));
  });
  nsp.on('connection', (socket) => {
    socket.on('echo', (...values) => values.pop()(values));
    socket.on('bytes', (count, done) => done(Buffer.alloc(count, 7)));
    socket.on('join', async (room, done) => {
      await socket.join(room);
      done([...socket.rooms].map((name) => (name === socket.id ? 'its own' : name)));
    });
    socket.on('say', (room, text) => nsp.to(room).emit('said', text));
    socket.on('say to others', (room, text) => socket.to(room).emit('said', text));
    socket.on('ask', (room, done) => nsp.to(room).timeout(5000).emitWithAck('question').then(done));
    socket.on('leave', (connection) => socket.disconnect(connection));
    // Requests that compare does not send: with another method, with headers, with a body. A number is the length of a text.
    socket.on('fetch', async (method, path, headers, body, done) => {
      const text = typeof body === 'number' ? JSON.stringify({ text: 'x'.repeat(body) }) : body;
      const url = `http://${socket.handshake.headers.host}${path}`;
      const response = await fetch(url, { method, headers, body: text ?? undefined, redirect: 'manual' });
      const kept = [...response.headers].filter(
        ([name]) => !OF_THE_CONNECTION.includes(name) && name !== 'content-length',
      );
      done(response.status, kept, await response.text());
    });
    socket.on('about', (done) => {
      const { request, handshake, conn } = socket;
      done({
        address: handshake.address,
        secure: handshake.secure,
        xdomain: handshake.xdomain,
        auth: handshake.auth,
        query: { EIO: handshake.query.EIO, transport: handshake.query.transport },
        protocol: conn.protocol,
        transport: conn.transport.name,
        request: [request.method, request.url.replace(/&(t|sid)=[^&]*/g, ''), request.httpVersion],
        remote: [request.socket.remoteAddress, request.connection.remoteAddress, Boolean(request.socket.encrypted)],
      });
    });
  });
};
