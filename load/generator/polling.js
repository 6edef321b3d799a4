import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 100 });

/**
 * Starts a session as socket.io-client does by default, on polling: the handshake, and then the connect to namespace "/", while the
 * client requests its WebSocket. The answer to the connect comes over that.
 * @returns {Promise<{ sid: string, posted: Promise<string> }>} the id of the session, and what settles once the server has the connect:
 *   the client upgrades then
 */
export async function startOnPolling({ host, port }) {
  const path = '/socket.io/?EIO=4&transport=polling';
  const open = await answerTo({ host, port, path });
  const { sid } = JSON.parse(open.slice(1));
  const posted = answerTo({ host, port, path: `${path}&sid=${sid}`, method: 'POST' }, '40');
  // The client looks at it later.
  posted.catch(() => {});
  return { sid, posted };
}

function answerTo(options, body) {
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, agent, headers: { 'Content-Type': 'text/plain' } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`the server answers ${response.statusCode} ${text}`));
      });
    });
    sent.on('error', reject).end(body);
  });
}
