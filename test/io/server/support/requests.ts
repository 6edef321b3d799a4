import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http';

export interface Answer {
  readonly status: number | undefined;
  readonly message: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Sends a request. The agent keeps no connection unless one is given. */
export function ask(port: number, options: RequestOptions = {}): ClientRequest {
  return request({ host: '127.0.0.1', port, agent: false, ...options });
}

/** The response to a request, once it is complete. */
async function responseTo(sent: ClientRequest): Promise<Answer> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const { statusCode: status, statusMessage: message, headers } = response;
  return { status, message, headers, body: Buffer.concat(parts).toString('latin1') };
}

/** Ends a request, and resolves with the response once it is complete. */
export function answerTo(sent: ClientRequest, body?: string | Buffer): Promise<Answer> {
  const answer = responseTo(sent);
  if (!sent.writableEnded) sent.end(body);
  return answer;
}

export async function get(port: number, path = '/', options: RequestOptions = {}): Promise<Answer> {
  return answerTo(ask(port, { path, ...options }));
}
