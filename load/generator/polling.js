import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 100 });

/**
 * Starts a session as socket.io-client does by default, on polling: the handshake, and the connect to namespace "/". The answer to
 * the connect comes over the WebSocket that follows.
 * @returns {Promise<string>} the id of the session
 */
export async function startOnPolling({ host, port }) {
  const path = '/socket.io/?EIO=4&transport=polling';
  const open = await answerTo({ host, port, path });
  const { sid } = JSON.parse(open.slice(1));
  await answerTo({ host, port, path: `${path}&sid=${sid}`, method: 'POST' }, '40');
  return sid;
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
