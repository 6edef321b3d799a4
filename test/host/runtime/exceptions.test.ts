import { afterEach, describe, expect, test } from '@jest/globals';
import { openPolling } from '../../engine/support/raw.js';
import { connect, connected, disconnectAll } from '../../support/clients.js';
import { sumOf } from '../../support/metrics.js';
import type { LogLine } from '../../support/server.js';
import { sharedServer } from '../../support/server.js';
import { until } from '../../support/until.js';

const listeners = new URL('support/failing-listeners.mjs', import.meta.url).href;

describe('a worker whose application has failing listeners', () => {
  const server = sharedServer({ WORKERS: '1', NODE_OPTIONS: `--import=${listeners}` });
  afterEach(disconnectAll);

  const isUnhandled = (line: LogLine) => line.msg === 'unhandled error; the worker continues';
  const counted = () => sumOf([server.url], 'gjallar_unhandled_errors_total');

  test('continues, counts each error, and logs the first 20 of a minute', async () => {
    const [mallory, other] = [connect(server.url), connect(server.url)];
    await Promise.all([connected(mallory), connected(other)]);
    const before = await counted();
    const emit = (event: string) => (mallory as unknown as { emit(event: string): void }).emit(event);
    for (const [event, kind, message] of [
      ['throw', 'exception', 'a listener threw'],
      ['reject', 'rejection', 'a listener rejected'],
    ] as const) {
      emit(event);
      const isThis = (line: LogLine) => line.kind === kind && JSON.stringify(line.error).includes(message);
      await server.logged((line) => isUnhandled(line) && isThis(line));
    }
    expect(await other.emitWithAck('echo', 'alive')).toBe('alive');
    expect(await mallory.emitWithAck('echo', 'alive')).toBe('alive');
    await until(async () => (await counted()) === before + 2);
    expect(server.log.filter(({ msg }) => msg === 'listening')).toHaveLength(1);

    for (let n = 0; n < 100; n++) emit('throw');
    await until(async () => (await counted()) === before + 102);
    expect(server.log.filter(isUnhandled).length).toBeLessThanOrEqual(20);
  });

  test('handles the packets after the one that failed, and answers their POST', async () => {
    const client = await openPolling(`${server.url}/socket.io/?EIO=4`);
    await client.post('40');
    expect(await client.post('42["ask"]')).toEqual([200, 'ok']);
    const before = await counted();
    expect(await client.post('430[]\x1e427["echo","after it"]')).toEqual([200, 'ok']);
    expect(await client.post('428["echo","later"]')).toEqual([200, 'ok']);
    let received = '';
    while (!received.includes('438["later"]')) received += (await client.poll())[1];
    expect(received).toContain('437["after it"]');
    await until(async () => (await counted()) === before + 1);
  });
});
