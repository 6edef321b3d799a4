// What the page tells users about an error. The server's own messages address developers.

/** The maximum length of a message, in UTF-16 code units. */
export const MAX_TEXT = 10_000;

/** `text` says what happened and what to do. `final`: the same request fails again, so the page does not offer it. */
const problems = {
  BAD_NAME: { text: 'A name has 1 to 64 characters, and no invisible ones. Choose another name.', final: true },
  BAD_ROOM: { text: 'A room name has 1 to 128 characters on one line. Choose another room.', final: true },
  BAD_TEXT: {
    text: `A message has 1 to ${MAX_TEXT.toLocaleString()} ordinary characters. Edit it, and send it again.`,
    final: true,
  },
  ROOM_FORBIDDEN: { text: 'Your token does not allow this in this room.', final: true },
  TOO_MANY_ROOMS: { text: 'You are in too many rooms. Leave one first.', final: true },
  TOKEN_MISSING: { text: 'This server requires a token.' },
  TOKEN_INVALID: { text: 'The server does not accept this token. Check that you copied all of it, or get a new one.' },
  TOKEN_EXPIRED: { text: 'Your token has expired. Get a new one.' },
  TOKEN_ISSUER: { text: 'This token is for another service. Get one for this server.' },
  TOKEN_AUDIENCE: { text: 'This token is for another service. Get one for this server.' },
  TOKENS_OFF: { text: 'This server needs no token. Choose a name instead.' },
  ACCOUNTS_UNAVAILABLE: { text: 'The server cannot check tokens at the moment. Try again later.' },
  NOT_IN_ROOM: { text: 'You are no longer in this room. Enter it again.', final: true },
  RATE_LIMITED: { text: 'You sent too much in a short time. Wait a moment.' },
  OVERLOADED: { text: 'The server is busy. Try again in a few seconds.' },
  HISTORY_UNAVAILABLE: { text: 'The server could not store the message. Try again.' },
  HISTORY_REFUSED: { text: 'The server could not store the message. Try again later.' },
  HISTORY_UNCERTAIN: { text: 'The server may or may not have stored the message.' },
  INTERNAL: { text: 'The server failed. Try again later.' },
};

/** @param error an error with `code` and `message`, as the server or the connection gives it */
export function problemOf({ code, message }) {
  return problems[code] ?? { text: message };
}

/** Whether a rejected client needs another token. */
export function isAboutToken(code = '') {
  return code.startsWith('TOKEN_');
}

/** Whether a rejected client needs another name. */
export function isAboutName(code) {
  return code === 'BAD_NAME' || code === 'TOKENS_OFF';
}
