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
export async function answerTo(sent: ClientRequest, body?: string | Buffer): Promise<Answer> {
  const responded = once(sent, 'response') as Promise<[IncomingMessage]>;
  if (!sent.writableEnded) sent.end(body);
  const [response] = await responded;
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const { statusCode: status, statusMessage: message, headers } = response;
  return { status, message, headers, body: Buffer.concat(parts).toString('latin1') };
}

export async function get(port: number, path = '/', options: RequestOptions = {}): Promise<Answer> {
  return answerTo(ask(port, { path, ...options }));
}
