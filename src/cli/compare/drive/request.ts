import { request } from 'node:http';
import type { Neutral } from './neutral.js';

/** As long as for an acknowledgement. Many servers of Socket.IO never answer other requests. */
const MAX_ANSWER_MS = 3000;
/** Of a longer body, only this part is compared, in bytes. */
const MAX_BODY = 4 * 1024 * 1024;

/** Headers that describe the connection instead of the response. docs/move.md lists how they differ. */
const ofTheConnection = ['connection', 'date', 'keep-alive', 'transfer-encoding', 'uwebsockets'];

export interface Server {
  /** An address of this machine. */
  readonly host: string;
  readonly port: number;
}

/** Sends a request, and returns what of its response is compared; the code of the error if there is none. */
export async function observeRequest(
  server: Server,
  method: string,
  path: string,
  isEngine: boolean,
  neutral: Neutral,
) {
  try {
    const { status, headers, body } = await send(server, method, path);
    for (const name of ofTheConnection) delete headers[name];
    // gjallar adds it to each of these responses; docs/compatibility.md says so.
    if (isEngine) delete headers['x-content-type-options'];
    // A body of this length is the same body if it comes in chunks.
    if (method !== 'HEAD' && headers['content-length'] === String(body.length)) delete headers['content-length'];
    return { status, headers: neutral.value(headers), body: neutral.text(body.toString()) };
  } catch (error) {
    return { error: (error as NodeJS.ErrnoException).code ?? (error as Error).message };
  }
}

/** @throws the error of the connection, or one after 3 s */
export function send({ host, port }: Server, method: string, path: string) {
  type Response = { status: number; headers: Record<string, unknown>; body: Buffer };
  return new Promise<Response>((resolve, reject) => {
    const sent = request({ host, port, method, path, agent: false, timeout: MAX_ANSWER_MS }, (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      const done = () => {
        resolve({ status: response.statusCode!, headers: { ...response.headers }, body: Buffer.concat(parts) });
        sent.destroy();
      };
      response.on('data', (part: Buffer) => {
        parts.push(part);
        size += part.length;
        if (size > MAX_BODY) done();
      });
      response.on('end', done).on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no response')));
    sent.on('error', reject);
    sent.end();
  });
}
