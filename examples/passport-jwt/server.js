// Passport verifies a JWT: for HTTP requests, and for the handshake of each socket.
import { createServer } from 'node:http';
import express from 'express';
import { Server } from 'gjallar';
import jwt from 'jsonwebtoken';
import passport from 'passport';
import { ExtractJwt, Strategy } from 'passport-jwt';

const secretOrKey = process.env.JWT_SECRET ?? 'for development only';
const jwtFromRequest = ExtractJwt.fromAuthHeaderAsBearerToken();
passport.use(new Strategy({ jwtFromRequest, secretOrKey }, ({ sub }, done) => done(null, { id: sub })));
const authenticate = passport.authenticate('jwt', { session: false });

const app = express();
// A real application checks a password here.
app.post('/login/:user', (request, response) => {
  response.json({ token: jwt.sign({}, secretOrKey, { subject: request.params.user, expiresIn: '1h' }) });
});
app.get('/me', authenticate, (request, response) => response.json(request.user));

const server = createServer(app);
const io = new Server(server);
io.engine.use((request, response, next) => {
  // Later requests of the same session belong to the user whom the handshake has authenticated.
  const isHandshake = request._query.sid === undefined;
  if (isHandshake) authenticate(request, response, next);
  else next();
});

io.on('connection', (socket) => {
  const { user } = socket.request;
  socket.join(`user:${user.id}`);
  socket.on('me', (reply) => reply(user));
  socket.on('tell', (id, text) => io.to(`user:${id}`).emit('told', user.id, text));
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`listening on ${port}`));
