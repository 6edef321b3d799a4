// The events that most applications of the matrix have; `talk.js` plays their users.

module.exports = function chat(io, namespace = '/') {
  const nsp = io.of(namespace);
  nsp.use((socket, next) => {
    if (socket.handshake.auth.token === 'wrong') next(Object.assign(new Error('wrong token'), { data: { code: 401 } }));
    else next();
  });
  nsp.on('connection', (socket) => {
    socket.on('echo', (...values) => values.pop()(values));
    socket.on('reverse', (bytes, done) => done(Buffer.from(bytes).reverse()));
    socket.on('join', async (room, done) => {
      await socket.join(room);
      done([...socket.rooms].map((name) => (name === socket.id ? 'its own' : name)));
    });
    socket.on('say', (room, text) => nsp.to(room).emit('said', text));
    socket.on('say to others', (room, text) => socket.to(room).emit('said', text));
    socket.on('fence', (room) => nsp.to(room).emit('fence'));
    socket.on('ask', (room, done) => nsp.to(room).timeout(5000).emitWithAck('question').then(done));
    socket.on('leave', (connection) => socket.disconnect(connection));
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
