import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { documentSender } from '../../../src/service/api/openapi.js';

test('the document of the API is encoded once, and sent within the turn of a request', async () => {
  let encoded = 0;
  const document = { toJSON: () => ({ openapi: ++encoded }) };
  const sendDocument = documentSender(async () => document);
  const sent: string[] = [];
  const events = new EventTarget();
  const exchange = {
    send: (status: number, headers: object, body: string | Uint8Array) => {
      sent.push(`${status} ${JSON.stringify(headers)} ${Buffer.from(body as Uint8Array)}`);
      events.dispatchEvent(new Event('sent'));
    },
  };
  const first = once(events, 'sent');
  sendDocument(exchange, { A: 'b' });
  await first;
  sendDocument(exchange, { A: 'b' });
  const answer = '200 {"A":"b","Content-Type":"application/json"} {"openapi":1}\n';
  expect(sent).toEqual([answer, answer]);
});
