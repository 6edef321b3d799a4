import { createHash } from 'node:crypto';
import { request } from 'node:http';

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

export const urlOf = ({ host, port }: Server) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

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

/** The error of a request that has no answer in time. */
export const NO_RESPONSE = 'no response';

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
    sent.on('timeout', () => sent.destroy(new Error(NO_RESPONSE)));
    sent.on('error', reject);
    sent.end();
  });
}

/** Longer texts are compared by their hash, in characters. */
const MAX_TEXT = 2000;
const DAY_MS = 86_400_000;
const isoDate = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?/g;

/** Replaces what differs in each run: ids of sockets, the port, times, and bytes by their hash. */
export class Neutral {
  private readonly names = new Map<string, string>();

  constructor(private readonly port: number) {}

  /** From now on, `id` is shown as `name`. */
  name(id: string | undefined, name: string): void {
    if (id) this.names.set(id, `<id of ${name}>`);
  }

  value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'number') return Math.abs(value - Date.now()) < DAY_MS ? '<time>' : value;
    if (value instanceof ArrayBuffer) return bytes(new Uint8Array(value));
    if (ArrayBuffer.isView(value)) return bytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    if (Array.isArray(value)) return value.map((one) => this.value(one));
    if (typeof value !== 'object' || value === null) return value === undefined ? null : value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [this.text(key), this.value(one)]));
  }

  text(text: string): string {
    let neutral = text;
    for (const [id, name] of this.names) neutral = neutral.replaceAll(id, name);
    neutral = neutral.replaceAll(isoDate, '<time>').replaceAll(`:${this.port}`, ':<port>');
    return neutral.length > MAX_TEXT ? `${neutral.length} characters, ${hash(Buffer.from(neutral))}` : neutral;
  }
}

const bytes = (content: Uint8Array) => `${content.length} bytes, ${hash(content)}`;
const hash = (content: Uint8Array) => createHash('sha256').update(content).digest('hex').slice(0, 16);
