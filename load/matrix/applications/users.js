import { asked, next } from '../visitor.js';

const cookieOf = ({ headers }) => headers['set-cookie'][0].split(';')[0];
/** The attributes of cookies, without their secret values. */
const withoutSecrets = ({ headers, ...rest }) => ({
  ...rest,
  headers: { ...headers, 'set-cookie': headers['set-cookie']?.map((one) => one.replace(/=[^;]+/, '=')) },
});
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const json = { 'content-type': 'application/json' };

/** Why a client was rejected. */
async function rejection(visitor, options) {
  const [{ message, context }] = await next(
    visitor.socket('/', { ...options, transports: ['polling'] }),
    'connect_error',
  );
  return [message, context?.status];
}

async function expressSession(visitor) {
  const first = await visitor.http('/count');
  const headers = { cookie: cookieOf(first) };
  const counts = [];
  for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
    const socket = await visitor.connected('/', { transports, extraHeaders: headers });
    counts.push(await asked(socket, 'count'));
  }
  const second = await visitor.http('/count', { headers });
  const last = await visitor.connected('/', { transports: ['websocket'], extraHeaders: headers });
  const gone = next(last, 'disconnect');
  const logout = await visitor.http('/logout', { method: 'POST', headers });
  const stranger = withoutSecrets(await visitor.engine('transport=polling'));
  return {
    first: withoutSecrets(first),
    second: withoutSecrets(second),
    counts,
    logout: [logout.status, (await gone)[0]],
    stranger: [stranger.status, stranger.headers],
  };
}

async function passportSession(visitor) {
  const wrong = await visitor.http('/login', { method: 'POST', headers: form, body: 'name=ada&password=wrong' });
  const login = await visitor.http('/login', { method: 'POST', headers: form, body: 'name=ada&password=correct' });
  const headers = { cookie: cookieOf(login) };
  const users = [];
  for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
    const socket = await visitor.connected('/', { transports, extraHeaders: headers });
    users.push(await new Promise((resolve) => socket.emit('me', (...values) => resolve(values))));
  }
  return {
    wrong,
    login: withoutSecrets(login),
    me: await visitor.http('/me', { headers }),
    stranger: await visitor.http('/me'),
    users,
    rejection: await rejection(visitor),
  };
}

async function passportJwt(visitor) {
  const login = await visitor.http('/login', { method: 'POST', headers: json, body: '{"name":"ada"}' });
  const { token } = JSON.parse(login.body);
  const headers = { authorization: `bearer ${token}` };
  const users = [];
  for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
    users.push(await asked(await visitor.connected('/', { transports, extraHeaders: headers }), 'me'));
  }
  return {
    login: [login.status, typeof token],
    me: await visitor.http('/me', { headers }),
    stranger: await visitor.http('/me'),
    users,
    rejections: [
      await rejection(visitor),
      await rejection(visitor, { extraHeaders: { authorization: `bearer ${token}x` } }),
    ],
  };
}

export default {
  'express-session': {
    file: 'users/express-session.cjs',
    about: 'express-session, shared by routes and sockets',
    script: expressSession,
  },
  'passport-session': { file: 'users/passport-session.cjs', about: 'Passport with sessions', script: passportSession },
  'passport-jwt': {
    file: 'users/passport-jwt.cjs',
    about: 'Passport with JSON Web Tokens',
    isStateless: true,
    script: passportJwt,
  },
};
