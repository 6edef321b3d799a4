const { createServer } = require('node:http');
const express = require('express');
const jwt = require('jsonwebtoken');
const passport = require('passport');
const { ExtractJwt, Strategy } = require('passport-jwt');
const { Server } = require('socket.io');

const secretOrKey = 'not secret';
passport.use(
  new Strategy(
    { jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(), secretOrKey, issuer: 'matrix' },
    ({ name }, done) => done(null, { name }),
  ),
);
const authenticate = passport.authenticate('jwt', { session: false });
const app = express();
app.post('/login', express.json(), (request, response) => {
  response.json({ token: jwt.sign({ name: request.body.name }, secretOrKey, { issuer: 'matrix', expiresIn: '1h' }) });
});
app.get('/me', authenticate, (request, response) => response.json(request.user));
const server = createServer(app);
const io = new Server(server);
io.engine.use((request, response, next) => {
  if (request._query.sid === undefined) authenticate(request, response, next);
  else next();
});
io.on('connection', (socket) => {
  const { user } = socket.request;
  socket.join(`user ${user.name}`);
  socket.on('me', (done) => done(user));
});
server.listen(process.env.PORT, process.env.HOST);
