const { createServer } = require('node:http');
const express = require('express');
const session = require('express-session');
const passport = require('passport');
const { Server } = require('socket.io');

class ByName extends passport.Strategy {
  name = 'name';
  authenticate(request) {
    if (request.body?.password === 'correct') this.success({ name: request.body.name });
    else this.fail();
  }
}
passport.use(new ByName());
passport.serializeUser((user, done) => done(null, user.name));
passport.deserializeUser((name, done) => done(null, { name }));

const sessions = session({ secret: 'not secret', resave: false, saveUninitialized: false });
const app = express();
app.use(sessions, passport.session(), express.urlencoded({ extended: false }));
app.post('/login', passport.authenticate('name'), (request, response) => response.json(request.user));
app.get('/me', (request, response) => response.json(request.user ?? null));
const server = createServer(app);
const io = new Server(server);
const onHandshake = (middleware) => (request, response, next) =>
  request._query.sid === undefined ? middleware(request, response, next) : next();
io.engine.use(onHandshake(sessions));
io.engine.use(onHandshake(passport.session()));
io.engine.use(
  onHandshake((request, response, next) => {
    if (request.user) return next();
    response.writeHead(401);
    response.end();
  }),
);
io.on('connection', (socket) => {
  socket.on('me', (done) => done(socket.request.user, socket.request.isAuthenticated()));
});
server.listen(process.env.PORT, process.env.HOST);
