import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import mime from 'mime-types';
import type { Headers } from './headers.js';
import type { Sender } from './json.js';

/** A request for a file, and its response. */
interface FileExchange extends Sender {
  readonly request: { readonly url: string; readonly headers: Readonly<Record<string, unknown>> };
}

/** A file that is served from memory. */
class StaticFile {
  private compressed: Buffer | undefined;

  constructor(
    readonly body: Buffer,
    readonly type: string,
    readonly etag: string,
  ) {}

  /** The compressed body, if it is smaller. Compressed on the first request for it: most workers start without one. */
  get gzipped(): Buffer | undefined {
    this.compressed ??= gzipSync(this.body);
    return this.compressed.length < this.body.length ? this.compressed : undefined;
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
  serve(exchange: FileExchange, headers: Headers): boolean {
    const { url, headers: asked } = exchange.request;
    const file = this.files.get(url.split('?', 1)[0]!);
    if (!file) return false;
    const isKnown = String(asked['if-none-match']).replace(/^W\//, '') === file.etag;
    const gzipped = /\bgzip\b/.test(String(asked['accept-encoding'])) ? file.gzipped : undefined;
    const vary = [headers.Vary, 'Accept-Encoding'].filter((value) => value !== undefined);
    const common = { ...headers, ETag: file.etag, 'Cache-Control': 'public, max-age=0', Vary: vary };
    const content = { 'Content-Type': file.type, ...(gzipped ? { 'Content-Encoding': 'gzip' } : {}) };
    exchange.send(isKnown ? 304 : 200, isKnown ? common : { ...common, ...content }, gzipped ?? file.body);
    return true;
  }
}

function readStaticFile(path: string, name: string, etag?: string): StaticFile {
  const body = readFileSync(path);
  const type = mime.contentType(name) || 'application/octet-stream';
  return new StaticFile(body, type, etag ?? `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`);
}
