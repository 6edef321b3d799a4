import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { HaProxy } from '../../support/haproxy.js';
import { get } from '../support/requests.js';
import { closeAll, closeLater } from '../support/servers.js';
import { application, attacks } from '../support/smuggling.js';

afterEach(closeAll);

/** After these, HAProxy passes the attacker's second request on, as one of its own. */
const legitimate = new Set(['a request after a body in chunks', 'a header that is folded', 'bare line feeds']);

describe.each(Object.entries(attacks))('%s', (name, parts) => {
  test('reaches no other client through a proxy that reuses connections', async () => {
    const { seen, port } = await application();
    const proxy = await HaProxy.start([port], 'http-reuse always');
    closeLater({ close: () => proxy.stop() });
    for (let round = 0; round < 4; round++) {
      const attacker = connect(proxy.port, '127.0.0.1').on('error', () => {});
      await once(attacker, 'connect');
      for (const part of parts) {
        attacker.write(part);
        await get(proxy.port, '/fence');
      }
      const others = Array.from({ length: 5 }, (_, index) => `/other-${round}-${index}`);
      const answers: string[] = [];
      for (const path of others) answers.push((await get(proxy.port, path)).body);
      expect(answers).toEqual(others.map((path) => `GET ${path}`));
      attacker.destroy();
    }
    const unexpected = seen.filter(({ request }) => !/ \/(?:other-\d-\d|attacker|early|fence)$/.test(request));
    if (!legitimate.has(name)) expect(unexpected).toEqual([]);
    expect(seen.filter(({ body }) => body.includes('other'))).toEqual([]);
  });
});
