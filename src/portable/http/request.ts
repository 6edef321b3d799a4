import type { IncomingMessage } from 'node:http';
import type { HttpRequest } from '../../sockets.js';

/** A request of node:http as uWebSockets.js shows it. */
export class PortableRequest implements HttpRequest {
  isYielded = false;
  private readonly path: string;
  private readonly query: string;

  constructor(readonly message: IncomingMessage) {
    const { url = '/' } = message;
    const mark = url.indexOf('?');
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.query = mark === -1 ? '' : url.slice(mark + 1);
  }

  getHeader(name: string): string {
    const value = this.message.headers[name];
    if (value === undefined) return '';
    return typeof value === 'string' ? value : (value[0] ?? '');
  }

  getUrl(): string {
    return this.path;
  }

  getMethod(): string {
    return this.message.method!.toLowerCase();
  }

  getCaseSensitiveMethod(): string {
    return this.message.method!;
  }

  getQuery(): string;
  getQuery(key: string): string | undefined;
  getQuery(key?: string): string | undefined {
    if (key === undefined) return this.query;
    return new URLSearchParams(this.query).get(key) ?? undefined;
  }

  forEach(each: (name: string, value: string) => void): void {
    const { rawHeaders } = this.message;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      each(rawHeaders[index]!.toLowerCase(), rawHeaders[index + 1]!);
    }
  }

  setYield(isYielded: boolean): HttpRequest {
    this.isYielded = isYielded;
    return this;
  }
}
