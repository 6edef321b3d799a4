import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import mime from 'mime-types';
import type { ResponseHeaders } from '../../engine/http/exchange.js';
import type { JsonSender } from './json.js';

/** A request for a file, and its response. */
interface FileExchange extends JsonSender {
  readonly request: { readonly url: string; readonly headers: Readonly<Record<string, unknown>> };
}

/** How a body can be compressed, in the order in which stock socket.io prefers it. */
const codings = {
  gzip: gzipSync,
  deflate: deflateSync,
  // Its default level takes a second for a bundle.
  br: (body: Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
};
type Coding = keyof typeof codings;

/** The coding that a client accepts and prefers. Source: RFC 9110, section 12.5.3. */
function codingFor(accepted: string): Coding | undefined {
  const weights = new Map<string, number>();
  for (const entry of accepted.toLowerCase().split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  let best: Coding | undefined;
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  for (const name of Object.keys(codings) as Coding[]) {
    if (weightOf(name) > (best ? weightOf(best) : 0)) best = name;
  }
  return best;
}

/** A file that is served from memory. */
class StaticFile {
  private readonly compressed = new Map<Coding, Buffer>();

  constructor(
    readonly body: Buffer,
    readonly type: string,
    readonly etag: string,
  ) {}

  /** The compressed body, if it is smaller. Compressed on the first request for it: most workers start without one. */
  compressedAs(coding: Coding): Buffer | undefined {
    const body = this.compressed.get(coding) ?? codings[coding](this.body);
    this.compressed.set(coding, body);
    return body.length < this.body.length ? body : undefined;
  }
}

/** Files by path. They are few and small, and are read once: the event loop must not wait for a disk. */
export class StaticFiles {
  private readonly files = new Map<string, StaticFile>();

  /**
   * Adds the files of a folder under a path that ends in a slash. The path itself serves `index.html`.
   * @param etag the ETag of all the files; by default, each file gets one that is derived from its content
   */
  add(path: string, folder: string, accept: (name: string) => boolean = () => true, etag?: string): this {
    if (!existsSync(folder)) return this;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isFile() || !accept(entry.name)) continue;
      const file = readStaticFile(join(folder, entry.name), entry.name, etag);
      this.files.set(path + entry.name, file);
      if (entry.name === 'index.html') this.files.set(path, file);
    }
    return this;
  }

  get paths(): string[] {
    return [...this.files.keys()];
  }

  /** Answers a GET or HEAD request. Returns false if there is no such file. */
  serve(exchange: FileExchange, headers: Readonly<ResponseHeaders>): boolean {
    const { url, headers: asked } = exchange.request;
    const file = this.files.get(url.split('?', 1)[0]!);
    if (!file) return false;
    const isKnown = String(asked['if-none-match']).replace(/^W\//, '') === file.etag;
    const coding = codingFor(String(asked['accept-encoding'] ?? ''));
    const compressed = coding && file.compressedAs(coding);
    const vary = [headers.Vary ?? [], 'Accept-Encoding'].flat();
    const common = { ...headers, ETag: file.etag, 'Cache-Control': 'public, max-age=0', Vary: vary };
    const content = { 'Content-Type': file.type, ...(compressed && { 'Content-Encoding': coding }) };
    exchange.send(isKnown ? 304 : 200, isKnown ? common : { ...common, ...content }, compressed ?? file.body);
    return true;
  }
}

function readStaticFile(path: string, name: string, etag?: string): StaticFile {
  const body = readFileSync(path);
  const type = mime.contentType(name) || 'application/octet-stream';
  return new StaticFile(body, type, etag ?? `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`);
}
