import { once } from 'node:events';
import { get } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { connect, connected, disconnectAll, expectOk, nextEvent, upgraded } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { sharedServer } from '../../support/server.js';
import { startServiceHere } from '../../support/service-here.js';
import { eventually } from '../../support/until.js';

const ADMIN = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'pass: word' };
const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const operator = basic('ops:pass: word');

/** The values of a metric, by its labels without that of the worker, summed over the workers. */
function valuesOf(text: string, name: string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [, labels = '', value] of text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (.*)$`, 'gm'))) {
    const key = labels.replace(/,?worker="\d+"/, '');
    sums[key] = (sums[key] ?? 0) + Number(value);
  }
  return sums;
}

describe('what the operator sees', () => {
  const server = sharedServer({ ...ADMIN, WORKERS: '2' });
  afterEach(disconnectAll);

  const scrape = async () => (await fetch(`${server.url}/metrics`, { headers: operator })).text();
  const stats = async (query = '') =>
    (await (await fetch(`${server.url}/api/stats${query}`, { headers: operator })).json()) as {
      totals: Record<string, number>;
      rooms: { room: string; members: number }[];
    };

  test('counts clients, messages and deliveries of all workers, whichever is asked', async () => {
    const before = await scrape();
    const members = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async () => {
        const client = connect(server.url);
        await upgraded(client);
        expectOk(await client.emitWithAck('join', 'counted'));
        return client;
      }),
    );
    const poller = connect(server.url, { transports: ['polling'] });
    await connected(poller);
    const plain = new WebSocket(`${server.url.replace('http', 'ws')}/counted`);
    await once(plain, 'open');
    const heard = members.map((member) => nextEvent(member, 'message'));
    const heardPlain = once(plain, 'message');
    expectOk(await members[0]!.emitWithAck('message', { room: 'counted', text: 'hello' }));
    await Promise.all([...heard, heardPlain]);
    expectOk(await members[0]!.emitWithAck('direct', { to: 'nobody', text: 'hello' }));
    expect(await members[0]!.emitWithAck('message', { room: 'elsewhere', text: 'x' })).toMatchObject({ ok: false });

    // Each worker reports its own part, within a second of the event.
    await eventually(async () => {
      const metrics = await scrape();
      const difference = (name: string, labels = '') =>
        valuesOf(metrics, name)[labels]! - (valuesOf(before, name)[labels] ?? 0);
      expect(valuesOf(metrics, 'gjallar_chat_failures_total')).toMatchObject({ 'code="NOT_IN_ROOM"': 1 });
      expect(valuesOf(metrics, 'gjallar_worker_up')).toEqual({ '': 2 });
      expect(valuesOf(metrics, 'gjallar_clients')).toEqual({
        'transport="polling"': 1,
        'transport="websocket"': 6,
        'transport="plain"': 1,
      });
      expect(difference('gjallar_connections_opened_total', 'kind="socketio"')).toBe(7);
      expect(difference('gjallar_connections_opened_total', 'kind="plain"')).toBe(1);
      expect(difference('gjallar_chat_messages_total', 'kind="room"')).toBe(1);
      expect(difference('gjallar_chat_messages_total', 'kind="direct"')).toBe(1);
      expect(difference('gjallar_deliveries_total')).toBeGreaterThanOrEqual(7);
      expect(difference('gjallar_history_seconds_count', 'call="append"')).toBe(2);
      expect(valuesOf(metrics, 'gjallar_history_bytes')).toEqual({ '': expect.any(Number) });
    });

    plain.close(1000);
    poller.disconnect();
    const closed = (text: string) => valuesOf(text, 'gjallar_connections_closed_total');
    await eventually(async () => {
      const metrics = await scrape();
      expect(valuesOf(metrics, 'gjallar_clients')).toMatchObject({ 'transport="polling"': 0 });
      expect(closed(metrics)).toMatchObject({
        'kind="plain",reason="1000"': 1,
        'kind="socketio",reason="transport close"':
          (closed(before)['kind="socketio",reason="transport close"'] ?? 0) + 1,
      });
    });
  });

  test('counts members of rooms over all workers, the largest rooms first', async () => {
    const names = ['Astrid', 'Bjørn', 'Chen', 'Dag', 'Eir', 'Frey'];
    const clients = names.map((name) => connect(server.url, { auth: { name } }));
    await Promise.all(clients.map(upgraded));
    for (const client of clients) expectOk(await client.emitWithAck('join', 'large'));
    for (const client of clients.slice(0, 2)) expectOk(await client.emitWithAck('join', 'small'));
    // The worker that answers hears of the other's members a little later, of each room on its own.
    await eventually(async () =>
      expect(await stats()).toMatchObject({
        totals: { clients: 6, workers: 2, rooms: 2 },
        rooms: [
          { room: 'large', members: 6 },
          { room: 'small', members: 2 },
        ],
      }),
    );
    // Another worker may answer this time.
    await eventually(async () => expect((await stats('?limit=1')).rooms).toEqual([{ room: 'large', members: 6 }]));
    for (const limit of ['0', '1001', 'all']) {
      expect(await stats(`?limit=${limit}`)).toMatchObject({ ok: false, code: 'BAD_PAGE' });
    }
  });

  test.each(['/metrics', '/api/stats'])('%s is for the operator alone', async (path) => {
    const wrong = [{}, basic('ops:password'), basic('ops'), basic(':pass: word'), { Authorization: 'Basic !' }];
    for (const response of await Promise.all(wrong.map((headers) => fetch(server.url + path, { headers })))) {
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
      expect(await response.json()).toMatchObject({ ok: false, code: 'ADMIN_ONLY' });
    }
    expect((await fetch(server.url + path, { headers: operator })).status).toBe(200);
  });

  /** Over several connections of their own, since the kernel gives some of them to the worker that is stuck. */
  function tryToScrape(): Promise<string> {
    const attempts = Array.from({ length: 8 }, async () => {
      const request = get(`${server.url}/metrics`, { headers: operator, agent: false });
      request.setTimeout(3000, () => request.destroy(new Error('no answer')));
      const [response] = (await once(request, 'response')) as [AsyncIterable<Buffer>];
      let body = '';
      for await (const chunk of response) body += chunk;
      return body;
    });
    return Promise.any(attempts).catch(() => '');
  }

  // Last: the stuck worker is of no use to other tests.
  test('a scrape does not wait for a worker that is stuck, and tells of one that died', async () => {
    const [stuck, other] = await Promise.all([1, 2].map((worker) => server.pidOfWorker(worker)));
    process.kill(stuck!, 'SIGSTOP');
    try {
      await eventually(async () => {
        const text = await tryToScrape();
        expect(text).toContain('gjallar_worker_up{worker="1"} 0\n');
        expect(text).toContain('gjallar_worker_up{worker="2"} 1\n');
        expect(text).not.toContain('process_open_fds{worker="1"}');
      });
    } finally {
      process.kill(stuck!, 'SIGKILL');
    }
    await server.pidOfWorker(3);
    await eventually(async () => {
      const metrics = await scrape();
      expect(valuesOf(metrics, 'gjallar_worker_deaths_total')).toEqual({ '': 1 });
      expect(valuesOf(metrics, 'gjallar_worker_up')).toEqual({ '': 2 });
    });
    expect(other).not.toBe(stuck);
  });
});

describe('without an operator', () => {
  test('everybody sees counts; rooms are named only where there are no accounts', async () => {
    const open = await startServiceHere({ WORKERS: '1' });
    const closed = await startServiceHere({ WORKERS: '1', JWT_SECRET: 'x'.repeat(32) });
    atEnd(disconnectAll, () => Promise.all([open.stop(), closed.stop()]));
    const client = connect(open.url);
    expectOk(await client.emitWithAck('join', 'hall'));
    expect(await (await fetch(`${open.url}/api/stats`)).json()).toMatchObject({
      totals: { workers: 1, clients: 1, rooms: 1 },
      rooms: [{ room: 'hall', members: 1 }],
    });
    expect(await (await fetch(`${closed.url}/api/stats`)).json()).toEqual({
      ok: true,
      totals: { workers: 1, clients: 0, messages: 0, rooms: 0 },
    });
    for (const { url } of [open, closed]) {
      const response = await fetch(`${url}/metrics`);
      expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(await response.text()).not.toContain('hall');
    }
  });
});
