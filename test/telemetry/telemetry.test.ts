import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { openTelemetry } from '../../src/telemetry/open.js';
import { connect, connected, disconnectAll, expectOk, nextEvent } from '../support/clients.js';
import { type RunningServer, startServer } from '../support/server.js';
import { until } from '../support/until.js';
import { TelemetryReceiver } from './support/receiver.js';
import '../support/long.js';

const API_KEY = 'a-key-for-the-tests';
const TRACE = '0af7651916cd43dd8448eb211c80319c';

let receiver: TelemetryReceiver | undefined;
let server: RunningServer | undefined;
afterEach(async () => {
  disconnectAll();
  await server?.stop();
  receiver?.stop();
});

/** Posts a message over the HTTP API, as part of a trace of the caller. */
function post(url: string): Promise<Response> {
  return fetch(`${url}/api/rooms/hall/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, traceparent: `00-${TRACE}-b7ad6b7169203331-01` },
    body: JSON.stringify({ text: 'hello' }),
  });
}

test('a trace follows a message from the HTTP API over the history to the members on each worker', async () => {
  receiver = await TelemetryReceiver.start();
  server = await startServer({
    API_KEY,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_SERVICE_NAME: 'chat-of-the-test',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  });
  // Enough clients that the kernel gives some to either worker.
  const clients = Array.from({ length: 12 }, () => connect(server!.url, { transports: ['websocket'] }));
  await Promise.all(clients.map(connected));
  for (const client of clients) expectOk(await client.emitWithAck('join', 'hall'));
  const heard = Promise.all(clients.map((client) => nextEvent<[object]>(client, 'message')));
  expect((await post(server.url)).status).toBe(200);
  for (const [message] of await heard) expect(message).not.toHaveProperty('traceparent');
  await until(() => receiver!.of('message deliver').length === 2 && receiver!.of('client connect').length === 12);

  const [request] = receiver.of('POST /api/rooms/{room}/messages');
  const [publication] = receiver.of('message publish');
  const [append] = receiver.of('history append');
  const deliveries = receiver.of('message deliver');
  expect(request).toMatchObject({
    traceId: TRACE,
    parentSpanId: 'b7ad6b7169203331',
    attributes: { 'http.request.method': 'POST', 'http.route': '/api/rooms/{room}/messages' },
    resource: { path: '/v1/traces', 'service.name': 'chat-of-the-test' },
  });
  expect(publication).toMatchObject({ traceId: TRACE, parentSpanId: request!.spanId });
  expect(append).toMatchObject({ traceId: TRACE, parentSpanId: publication!.spanId });
  for (const delivery of deliveries)
    expect(delivery).toMatchObject({ traceId: TRACE, parentSpanId: publication!.spanId });
  expect(deliveries.map(({ resource }) => resource['gjallar.worker']).sort()).toEqual([1, 2]);
  expect(JSON.stringify(receiver.spans)).not.toContain('hall');
});

test('the metrics are those of /metrics', async () => {
  receiver = await TelemetryReceiver.start();
  const metrics = {
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${receiver.url}/v1/metrics`,
    OTEL_METRIC_EXPORT_INTERVAL: '200',
  };
  server = await startServer({ API_KEY, WORKERS: '1', ...metrics });
  for (let count = 0; count < 3; count++) expect((await post(server.url)).status).toBe(200);
  const countOf = () => receiver!.metrics.get('gjallar_history_seconds')?.histogram?.dataPoints;
  const appends = () => countOf()?.find(({ attributes }) => JSON.stringify(attributes).includes('append'));
  await until(() => appends()?.count === 3);
  expect(appends()!.bucketCounts!.reduce((sum, count) => sum + count)).toBe(3);
  expect(appends()!.sum).toBeGreaterThan(0);
  const messages = receiver.metrics.get('gjallar_chat_messages_total')!;
  expect(messages.sum).toMatchObject({ isMonotonic: true });
  expect(receiver.metrics.get('process_open_fds')!.gauge!.dataPoints[0]!.asDouble).toBeGreaterThan(5);
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const names = [...text.matchAll(/^# TYPE (\w+) \w+$/gm)].map(([, name]) => name!);
  // What only all workers together know is not of one worker.
  const ofMachine = [
    'gjallar_build_info',
    'gjallar_worker_up',
    'gjallar_workers_configured',
    'gjallar_worker_deaths_total',
    'gjallar_reloads_total',
  ];
  expect(names.filter((name) => !receiver!.metrics.has(name))).toEqual(ofMachine);
  expect(receiver.spans).toEqual([]);
});

test('the sampler of OTEL_TRACES_SAMPLER decides', async () => {
  receiver = await TelemetryReceiver.start();
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: 'always_off' };
  server = await startServer({ API_KEY, WORKERS: '1', ...traces });
  expect((await post(server.url)).status).toBe(200);
  // Sends what is left.
  await server.stop();
  expect(receiver.spans).toEqual([]);
});

test.each([{}, { OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }])(
  'nothing is loaded or logged with %j',
  async (variables) => {
    const isSet = Object.keys(variables).length > 0;
    const endpoint = isSet ? { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' } : {};
    const lines: unknown[] = [];
    const log = { info: (...line: unknown[]) => lines.push(line), warn: (...line: unknown[]) => lines.push(line) };
    await (
      await openTelemetry({ ...endpoint, ...variables }, {}, { registry: { getMetricsAsJSON: async () => [] } }, log)
    )();
    expect(lines).toEqual([]);
  },
);

test('without the packages, the server runs and says in one line what to install', async () => {
  const hook = new URL('support/without.mjs', import.meta.url).href;
  const env = { API_KEY, WORKERS: '1', NODE_OPTIONS: `--import ${hook}` };
  server = await startServer({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  expect(await server.logged(({ msg }) => msg?.startsWith('OpenTelemetry exports nothing') ?? false)).toMatchObject({
    level: 'warn',
    msg: expect.stringContaining('npm install @opentelemetry/api'),
  });
  expect((await post(server.url)).status).toBe(200);
});

test('one file imports OpenTelemetry, and one loads that file, only when it is needed', () => {
  const source = fileURLToPath(new URL('../../src', import.meta.url));
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const having = (pattern: RegExp) => files.filter((file) => pattern.test(readFileSync(`${source}/${file}`, 'utf8')));
  expect(having(/from '@opentelemetry\//).sort()).toEqual(['telemetry/exporter.ts', 'telemetry/metric-producer.ts']);
  expect(having(/'\.[./]*\/exporter\.js'/)).toEqual(['telemetry/open.ts']);
  expect(readFileSync(`${source}/telemetry/open.ts`, 'utf8')).toContain("await import('./exporter.js')");
});
