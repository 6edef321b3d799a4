import { own } from '../../base/owner.js';
import type { Headers } from '../../io/http/headers.js';
import type { Sender } from '../../io/http/json.js';

/**
 * Answers requests for the OpenAPI document. The request is short and the document is long: it is encoded once, and sent within
 * the turn of the request, where the request guard measures how long it takes.
 */
export function documentSender(describe: () => Promise<object>): (exchange: Sender, headers: Headers) => void {
  let document: Buffer | undefined;
  return (exchange, headers) => {
    const send = (bytes: Buffer) => exchange.send(200, { ...headers, 'Content-Type': 'application/json' }, bytes);
    if (document) return send(document);
    const described = describe().then((value) => {
      document ??= Buffer.from(`${JSON.stringify(value)}\n`);
      send(document);
    });
    own('describing the API', described);
  };
}
