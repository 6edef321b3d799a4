/** A response as a client has received it. */
export interface Response {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Parses the responses of one connection. */
export class ResponseReader {
  /** The statuses of informational responses. */
  readonly informational: number[] = [];
  private bytes: Buffer = Buffer.alloc(0);

  add(part: Buffer): void {
    this.bytes = this.bytes.length === 0 ? part : Buffer.concat([this.bytes, part]);
  }

  get received(): number {
    return this.bytes.length;
  }

  /** The next response; undefined if it is incomplete. */
  take(isHead: boolean): Response | undefined {
    const head = this.head();
    if (!head) return undefined;
    const { status, lines, end } = head;
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      if (name in headers) throw new Error(`${name} occurs twice`);
      headers[name] = line.slice(colon + 1).trim();
    }
    const isBodiless = isHead || status === 204 || status === 304;
    const body = isBodiless ? { text: '', end } : this.body(headers, end);
    if (!body) return undefined;
    this.bytes = this.bytes.subarray(body.end);
    return { status, headers, body: body.text };
  }

  /** The head of the next response. It takes the informational ones before it. */
  head(): { status: number; lines: string[]; end: number } | undefined {
    for (;;) {
      const end = this.bytes.indexOf('\r\n\r\n');
      if (end === -1) return undefined;
      const [first = '', ...lines] = this.bytes.toString('latin1', 0, end).split('\r\n');
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
      if (!status) throw new Error(`no status line: ${JSON.stringify(first)}`);
      if (status >= 200) return { status, lines, end: end + 4 };
      this.informational.push(status);
      this.bytes = this.bytes.subarray(end + 4);
    }
  }

  private body(headers: Record<string, string>, start: number): { text: string; end: number } | undefined {
    const { bytes } = this;
    if (headers['transfer-encoding'] !== 'chunked') {
      const end = start + Number(headers['content-length'] ?? Number.NaN);
      if (Number.isNaN(end)) throw new Error('neither a length nor chunks');
      return bytes.length < end ? undefined : { text: bytes.toString('latin1', start, end), end };
    }
    // Looks at the end first, because a long body comes in many parts.
    if (bytes.indexOf('\r\n\r\n', Math.max(start, bytes.length - 20_000)) === -1) return undefined;
    let text = '';
    for (let at = start; ; ) {
      const line = bytes.indexOf('\r\n', at);
      if (line === -1) return undefined;
      const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
      if (size === 0) {
        const trailersEnd = bytes.indexOf('\r\n\r\n', line);
        return trailersEnd === -1 ? undefined : { text, end: trailersEnd + 4 };
      }
      const end = line + 2 + size;
      if (bytes.length < end + 2) return undefined;
      if (bytes.toString('latin1', end, end + 2) !== '\r\n') throw new Error('a chunk does not end');
      text += bytes.toString('latin1', line + 2, end);
      at = end + 2;
    }
  }
}
