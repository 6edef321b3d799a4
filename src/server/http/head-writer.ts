import type { HttpResponse } from '../../sockets.js';
import type { ResponseHead } from './response-head.js';

/** A header that uWebSockets.js adds to each response. It stands in for a header where there is none. */
const OWN_HEADER = ['uWebSockets', '20'] as const;

/**
 * Writes heads and trailers of responses. uWebSockets.js has no calls for informational responses and trailers, and
 * writes only one status line. But it writes names and values as they are, so that these may contain line ends. All text
 * comes from node:http, which has checked it. Call all methods within `cork()`.
 */
export class HeadWriter {
  /** Whether the only status line of uWebSockets.js is written. */
  private hasStatus = false;
  /** A status line that waits for its first header. */
  private pending = '';

  constructor(private readonly res: HttpResponse) {}

  /** Writes an informational response: a status line and headers, with the empty line at their end. */
  informational(text: string): void {
    const end = text.indexOf('\r\n');
    const lines = text
      .slice(end + 2, -4)
      .split('\r\n')
      .filter(Boolean);
    this.status(text.slice(text.indexOf(' ') + 1, end));
    if (lines.length === 0) lines.push(OWN_HEADER.join(': '));
    for (const [index, line] of lines.entries()) {
      const colon = line.indexOf(':');
      const value = line.slice(colon + 1).trim();
      this.header(line.slice(0, colon), index === lines.length - 1 ? `${value}\r\n` : value);
    }
  }

  /** Writes the status line and the headers. `leavesOut` names a header, in lower case, that is not written. */
  head({ status, headers }: ResponseHead, leavesOut?: string): void {
    this.status(status);
    for (let index = 0; index < headers.length; index += 2) {
      if (leavesOut === undefined || headers[index]!.toLowerCase() !== leavesOut) {
        this.header(headers[index]!, headers[index + 1]!);
      }
    }
    if (this.pending) this.header(...OWN_HEADER);
  }

  /**
   * Ends a body in chunks.
   * @param trailers lines with their ends; '' for none
   * @param hasBody whether a chunk of the body is written
   */
  trailers(trailers: string, hasBody: boolean): void {
    if (!hasBody) return void this.res.writeHeader('Transfer-Encoding', bytesOf(`chunked\r\n\r\n0\r\n${trailers}`));
    const text = trailers || `${OWN_HEADER.join(': ')}\r\n`;
    const colon = text.indexOf(':');
    this.res.writeHeader(`\r\n0\r\n${text.slice(0, colon)}`, bytesOf(text.slice(colon + 1).trimStart()));
  }

  /** Ends a response that has no body. `length` is that of the body that a GET would get. */
  endWithoutBody(length: number | undefined): void {
    if (length !== undefined) this.header('Content-Length', String(length));
    this.header('Date', `${new Date().toUTCString()}\r\n`);
  }

  private status(status: string): void {
    if (this.hasStatus) this.pending = `HTTP/1.1 ${status}\r\n`;
    else this.res.writeStatus(bytesOf(status));
    this.hasStatus = true;
  }

  private header(name: string, value: string): void {
    this.res.writeHeader(bytesOf(this.pending + name), bytesOf(value));
    this.pending = '';
  }
}

/** node:http writes heads in Latin-1, but uWebSockets.js encodes strings as UTF-8. */
function bytesOf(text: string): string | Buffer {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text, 'latin1');
}
