import { setImmediate } from 'node:timers/promises';
import { backplaneNameOf } from '../../backplanes/index.js';
import { hostAndPort, readNatsUrls } from '../../backplanes/nats/address.js';
import { dial } from '../../backplanes/nats/dial.js';
import { PROBE } from '../../backplanes/nats/parts.js';
import { own } from '../../base/owner.js';
import type { Config } from '../../config/options.js';
import { type Finding, fail, ok, reasonOf, warn } from './finding.js';

/** With a smaller max_payload, most frames of a busy server are split. */
const MIN_MAX_PAYLOAD = 64 * 1024;

/** NATS: whether each of its servers can be reached, and what it lets the user do. */
export async function checkNats(config: Config): Promise<Finding[]> {
  const { natsUrl } = config;
  if (!natsUrl || backplaneNameOf(config) !== 'nats') return [];
  const servers = await Promise.all(natsUrl.split(',').map((url) => checkServer(url.trim(), config)));
  return servers.flat();
}

async function checkServer(url: string, { natsCreds, natsPrefix }: Config): Promise<Finding[]> {
  const name = `NATS at ${hostAndPort(readNatsUrls(url)!.hosts[0]!)}`;
  try {
    const client = await dial({ url, credentials: natsCreds });
    try {
      const { version = '', max_payload: maxPayload = 0 } = client.info ?? {};
      const findings = [ok(`${name} answers (version ${version})`)];
      if (maxPayload < MIN_MAX_PAYLOAD) {
        const text = `${name} accepts ${maxPayload} bytes in a message, so longer ones are split`;
        findings.push(warn(`${text}. Raise max_payload to ${MIN_MAX_PAYLOAD} or more.`));
      }
      return [...findings, ...(await rights(client, name, natsPrefix))];
    } finally {
      await client.close();
    }
  } catch (error) {
    return [fail(`${name} cannot be used: ${reasonOf(error)}. Check NATS_URL, and that NATS runs.`)];
  }
}

/** Publishes what receivers ignore, and subscribes. NATS reports what it does not allow before it answers a ping. */
async function rights(client: Awaited<ReturnType<typeof dial>>, name: string, prefix: string): Promise<Finding[]> {
  const rejections: string[] = [];
  const listen = async () => {
    for await (const status of client.status()) if (status.type === 'error') rejections.push(reasonOf(status.error));
  };
  own('reading what NATS reports', listen());
  for (const subject of [`${prefix}.frames`, `${prefix}.frames.doctor`, `${prefix}.relay.doctor`]) {
    client.publish(subject, PROBE);
    client.subscribe(subject, { callback: () => {} });
  }
  await client.flush();
  // The rejections are reported by an iterator.
  await setImmediate();
  if (rejections.length === 0) return [ok(`${name} allows the subjects of the server`)];
  return rejections.map((reason) => fail(`${name} rejects the user: ${reason}. Allow ${prefix}.> in its permissions.`));
}
