import { spread } from './groups.js';

const MICRO = 1e-6;

/**
 * The costs that capacity planning needs: a description, the benchmark that measured it, and how to read it from there, in
 * seconds of a core or in bytes.
 */
const sources = {
  delivery: {
    about: 'one delivery in a room of 1,000 at 40 messages/s, including its share of the message',
    unit: 'µs',
    from: 'broadcast',
    read: (find) =>
      figure(
        find('broadcast', 'gjallar', (p) => room(p) && p.perSecond === 40),
        'cpuPerDelivery',
      ) * MICRO,
  },
  gathered: {
    about: 'one delivery in a room of 1,000 at 1,000 messages/s',
    unit: 'µs',
    from: 'broadcast',
    read: (find) =>
      figure(
        find('broadcast', 'gjallar', (p) => room(p) && p.perSecond === 1000),
        'cpuPerDelivery',
      ) * MICRO,
  },
  heartbeat: {
    about: 'one heartbeat',
    unit: 'µs',
    from: 'idle',
    read: (find) => figure(find('idle', 'gjallar'), 'cpuPerHeartbeat') * MICRO,
  },
  echo: {
    about: 'one echoed text',
    unit: 'µs',
    from: 'echo',
    read: (find) =>
      figure(
        find('echo', 'gjallar', (p) => p.size === 30),
        'cpuPerMessage',
      ) * MICRO,
  },
  large: {
    about: 'one message of 10,000 bytes to one of 3,000 clients',
    unit: 'µs',
    from: 'marketdata',
    read: (find) =>
      figure(
        find('marketdata', 'gjallar', (p) => p.clients === 3000),
        'cpuPerMessage',
      ) * MICRO,
  },
  direct: {
    about: 'one direct message, stored in Redis and delivered',
    unit: 'µs',
    from: 'correspondence',
    read: (find) => figure(kept(find), 'cpuPerMessage') * MICRO,
  },
  store: {
    about: 'one direct message: CPU of Redis',
    unit: 'µs',
    from: 'correspondence',
    read: (find) => share(kept(find), 'redisCpu') / figure(kept(find), 'acknowledged'),
  },
  bus: {
    about: 'one message from one worker to another over the Redis bus: CPU of both workers',
    unit: 'µs',
    from: 'workers',
    read: (find) =>
      (share(joined(find, '-2-redis'), 'server') - share(joined(find, '-1'), 'server')) /
      figure(joined(find, '-2-redis'), 'published'),
  },
  redis: {
    about: 'one message over the Redis bus: CPU of Redis for each receiving worker',
    unit: 'µs',
    from: 'workers',
    read: (find) => share(joined(find, '-2-redis'), 'redisCpu') / figure(joined(find, '-2-redis'), 'published') / 2,
  },
  framed: {
    about: 'one message from one worker to another in a frame: CPU of both workers',
    unit: 'µs',
    from: 'frames',
    read: (find) =>
      crossing(find, 25) / figure(framing(find, '2-25ms'), 'messages') - perFrame(find) * framesPerMessage(find),
  },
  frame: {
    about: 'one frame from one worker to another over Redis: CPU of both workers',
    unit: 'µs',
    from: 'frames',
    read: (find) => perFrame(find),
  },
  brokerFrame: {
    about: 'one frame over Redis: CPU of Redis for each receiving worker',
    unit: 'µs',
    from: 'frames',
    read: (find) => share(framing(find, '2-2ms'), 'redisCpu') / figure(framing(find, '2-2ms'), 'frames'),
  },
  memory: {
    about: 'memory of one connection, including the kernel’s memory for both of its ends',
    unit: 'bytes',
    from: 'connections',
    read: (find) => {
      const most = find('connections', 'gjallar-cluster', (p) => p.clients === 1_000_000 && p.every > 25_000);
      return figure(most, 'serverPerClient') + figure(most, 'kernelPerClient');
    },
    otherwise: {
      about: 'memory of one connection, without the kernel’s',
      from: 'connect',
      read: (find) => figure(find('connect', 'gjallar'), 'rssPerClient'),
    },
  },
};

const framing = (find, name) => find('frames', `gjallar-nodes-${name}`);
/** CPU per second that two nodes with a window of so many ms need beyond what one needs. */
const crossing = (find, ms) =>
  share(framing(find, `2-${ms}ms`), 'server') - share(framing(find, `1-${ms}ms`), 'server');
const framesPerMessage = (find) =>
  figure(framing(find, '2-25ms'), 'frames') / figure(framing(find, '2-25ms'), 'messages');
/** The same messages in more frames: what they cost more is the frames' cost. */
const perFrame = (find) =>
  (crossing(find, 2) - crossing(find, 25)) /
  (figure(framing(find, '2-2ms'), 'frames') - figure(framing(find, '2-25ms'), 'frames'));
const room = ({ subscribers, publishers }) => subscribers === 1000 && publishers === 10;
const kept = (find) => find('correspondence', 'gjallar-kept-redis', (p) => p.perSecond !== undefined);
const joined = (find, name) => find('workers', `gjallar-workers${name}`, (p) => p.subscribers === 10);
const figure = (group, key) => (group?.valid ? (spread(group, key)?.median ?? Number.NaN) : Number.NaN);
const share = (group, key) => figure(group, key) / 100;

/**
 * @param {import('./groups.js').Group[]} groups
 * @returns {{ name: string, about: string, unit: string, from: string, value: number }[]} NaN where nothing was measured
 */
export function readCosts(groups) {
  const find = (benchmark, peer, matches = () => true) =>
    groups.find((group) => group.benchmark === benchmark && group.peer === peer && matches(group.parameters));
  return Object.entries(sources).map(([name, { otherwise, ...source }]) => {
    const first = measured(name, source, find);
    return Number.isNaN(first.value) && otherwise ? measured(name, { ...source, ...otherwise }, find) : first;
  });
}

function measured(name, { about, unit, from, read }, find) {
  const value = read(find);
  // What lies within the noise of its measurement is no cost to plan with.
  return { name, about, unit, from, value: value > 0 ? value : Number.NaN };
}
