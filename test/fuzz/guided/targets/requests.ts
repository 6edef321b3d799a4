import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { type EngineRequest, readRequest, requestOf } from '../../../../src/engine/http/request.js';
import { readMessage } from '../../../../src/engine/node/request.js';
import type { HttpRequest, HttpResponse } from '../../../../src/engine/uws/app.js';
import type { Target } from '../guide.js';
import { expectSame } from './same.js';

/** The first line of an input, then its headers. */
interface Given {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const URLS = ['', '4', '16'];

function givenIn(text: string): Given & { readonly address: string; readonly hops: number } {
  const [first = '', ...lines] = text.split('\n');
  const [method = 'GET', url = '/', length = '', hops = '0'] = first.split(' ');
  const [path = '', ...rest] = url.split('?');
  const headers = lines.map((line): [string, string] => {
    const at = Math.max(0, line.indexOf(':'));
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
  });
  const address = length === '4' ? '192.0.2.7' : length === '16' ? '2001:db8::7' : '';
  return { method, path, query: rest.join('?'), headers, address, hops: Number(hops) % 3 || 0 };
}

/** As uWebSockets.js gives it to its handlers. */
function overUws({ method, path, query, headers, address, hops }: ReturnType<typeof givenIn>): EngineRequest {
  const bytes =
    { '192.0.2.7': [192, 0, 2, 7], '2001:db8::7': [32, 1, 13, 184, ...Array(11).fill(0), 7] }[address] ?? [];
  const res = {
    getRemoteAddress: () => Uint8Array.from(bytes).buffer,
    getRemoteAddressAsText: () => Buffer.from('2001:0db8:0000:0000:0000:0000:0000:0007'),
  };
  const req = {
    forEach: (each: (name: string, value: string) => void) => {
      for (const header of headers) each(...header);
    },
    getMethod: () => method.toLowerCase(),
    getUrl: () => path,
    getQuery: () => query,
  };
  return readRequest(res as unknown as HttpResponse, req as unknown as HttpRequest, false, hops);
}

/** As node:http gives it. */
function overNode({ method, path, query, headers, address, hops }: ReturnType<typeof givenIn>): EngineRequest {
  const message = {
    method: method.toUpperCase(),
    url: query ? `${path}?${query}` : path,
    headers: Object.fromEntries(headers.map(([name, value]) => [name, Buffer.from(value).toString('latin1')])),
    rawHeaders: headers.flat(),
    socket: { remoteAddress: address || undefined },
    httpVersion: method.length > 4 ? '2.0' : '1.1',
    httpVersionMajor: method.length > 4 ? 2 : 1,
  };
  return readMessage(message as unknown as IncomingMessage, hops);
}

const requests: Target = {
  seeds: [
    ...[
      'GET /',
      'get /socket.io/?EIO=4&transport=polling&t=abc 4',
      'POST /a?b=%20c&d+e=f&__proto__=x 16 1',
      'GET /?a&&=b',
    ],
    ...['GET / 4 1\nX-Forwarded-For: 1.2.3.4, 5.6.7.8:90', 'GET / 16 2\nx-forwarded-for: unknown, [2001:db8::1]:4711'],
    ...[
      'GET / 4 1\nx-forwarded-for: nobody',
      'GET /\nhost: a\nhost: b\ncookie: a=1\ncookie: b=2\naccept: x\naccept: y',
    ],
    ...['GET /\nsec-websocket-key: a\nsec-websocket-key: b', 'GET /\nconstructor: x\n__proto__: y\nname: grüße'],
    ...[`OPTIONS /${'x'.repeat(200)}?${'a=b&'.repeat(50)} 4 2`, 'GET /?a=1&a=2', 'GET ??a', 'GET ??a=%20'],
  ],
  run(input) {
    const given = givenIn(input.toString());
    const [uws, node] = [overUws(given), overNode(given)];
    const { url, _query } = node;
    expectSame([uws.method, uws.url, uws._query], [node.method, url, _query]);
    const mark = url.indexOf('?');
    const expected = mark === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(mark)));
    expectSame(_query, expected);
    const names = given.headers.map(([name]) => name);
    for (const name of names.filter((one) => names.indexOf(one) === names.lastIndexOf(one) && one !== '__proto__'))
      expectSame(uws.headers[name], node.headers[name]);
    const { remoteAddress = '' } = uws.socket;
    if (!URLS.includes(remoteAddress) && isIP(remoteAddress) === 0) throw new Error(`${remoteAddress} is no address`);
    expectSame(uws.client.remoteAddress, remoteAddress);
    for (const request of [uws, node]) {
      expectSame(requestOf(request.toParts()).toParts(), request.toParts());
      for (const value of [
        request.rawHeaders,
        request.headersDistinct,
        request.httpVersionMajor,
        request.httpVersionMinor,
      ])
        JSON.stringify(value);
    }
  },
};

export const requestTargets = { requests };
