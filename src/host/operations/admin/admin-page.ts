import type { IncomingMessage } from 'node:http';
import { packagePath } from '../../../base/package.js';
import { pageHeaders } from '../../../io/http/headers.js';
import type { Sender } from '../../../io/http/json.js';
import { StaticFiles } from '../../../io/http/static-files.js';

const PATH = '/admin/';
/** Files that the operator's page shares with the demo page. */
const SHARED: readonly string[] = ['base.css', 'favicon.svg'];

/** The files of the operator's page. */
export class AdminPage {
  private readonly files = new StaticFiles()
    .add(PATH, packagePath('public/admin'))
    .add(PATH, packagePath('public'), (name) => SHARED.includes(name));
  private readonly headers = pageHeaders(false);

  /** Answers a GET or HEAD request. Returns false if the path is none of the page. */
  serve({ url = '', headers }: IncomingMessage, sender: Sender): boolean {
    if (url.split('?', 1)[0] === PATH.slice(0, -1)) {
      // Relative, so that it works behind a proxy that puts a prefix before the path.
      sender.send(308, { ...this.headers, Location: 'admin/' }, '');
      return true;
    }
    return this.files.serve({ request: { url, headers }, send: sender.send }, this.headers);
  }

  /** Whether a path belongs to the page. */
  static has(path: string): boolean {
    return path === PATH.slice(0, -1) || path.startsWith(PATH);
  }
}
