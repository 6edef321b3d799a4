import { setImmediate } from 'node:timers/promises';
import type { Diagnosis, PubSubAddress } from 'gjallar/pub-sub';
import { hostAndPort, readNatsUrls, subjectOf } from './address.js';
import { dial } from './dial.js';
import { PROBE } from './parts.js';

/** With a smaller max_payload, most frames of a busy server are split. */
const MIN_MAX_PAYLOAD = 64 * 1024;

/** Tries each server of NATS: whether it can be reached, and what it lets the user do. */
export async function diagnose({ url, credentials }: PubSubAddress, channels: readonly string[]): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const one of url.split(',')) found.push(...(await diagnoseOne({ url: one.trim(), credentials }, channels)));
  return found;
}

async function diagnoseOne(address: PubSubAddress, channels: readonly string[]): Promise<Diagnosis[]> {
  const host = readNatsUrls(address.url)?.hosts[0];
  const name = `NATS at ${host ? hostAndPort(host) : 'NATS_URL'}`;
  let client: Awaited<ReturnType<typeof dial>>;
  try {
    client = await dial(address);
  } catch (error) {
    const text = `${name} cannot be used: ${(error as Error).message}. Check NATS_URL, and that NATS runs.`;
    return [{ level: 'fail', text, code: 'BUS_UNREACHABLE' }];
  }
  const found: Diagnosis[] = [{ level: 'ok', text: `${name} answers (version ${client.info?.version})` }];
  const most = client.info?.max_payload ?? 0;
  const accepts = `${name} accepts ${most} bytes in a message`;
  const raise = `${accepts}. Longer ones are split: raise max_payload to ${MIN_MAX_PAYLOAD} or more.`;
  found.push(most >= MIN_MAX_PAYLOAD ? { level: 'ok', text: accepts } : { level: 'warn', text: raise });
  const rejections = await rejectionsOf(client, channels.map(subjectOf)).finally(() => client.close());
  if (rejections.length === 0) found.push({ level: 'ok', text: `${name} allows the subjects of the server` });
  for (const reason of rejections) {
    const text = `${name} rejects the user: ${reason}. Allow the subjects in its permissions.`;
    found.push({ level: 'fail', text, code: 'BUS_COMMAND_REJECTED' });
  }
  return found;
}

/** Publishes what receivers ignore, and subscribes. NATS reports what it does not allow before it answers a ping. */
async function rejectionsOf(client: Awaited<ReturnType<typeof dial>>, subjects: readonly string[]): Promise<string[]> {
  const rejections: string[] = [];
  const listen = async () => {
    for await (const status of client.status()) if (status.type === 'error') rejections.push(status.error.message);
  };
  listen().catch((error: Error) => rejections.push(error.message));
  // Emitters publish on the first one, and servers only listen there.
  for (const subject of subjects.slice(1)) client.publish(subject, PROBE);
  for (const subject of subjects) client.subscribe(subject, { callback: () => {} });
  await client.flush();
  // The rejections are reported by an iterator.
  await setImmediate();
  return rejections;
}
