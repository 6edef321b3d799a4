import { readStamp } from '../clock.js';

const BEFORE_TEXT = '42["message","'.length;

/**
 * Subscribers that pause after each read: for `pause` ms, or, without it, until they take another role. They check that
 * messages arrive in the order in which they were sent; that holds where one client publishes.
 */
export function slow(clients, { pause }, counters) {
  for (const client of clients) client.slowDown(pause ?? Number.POSITIVE_INFINITY);
  return { event: inOrder(counters) };
}

/** Paused subscribers read on. */
export function released(clients, _options, counters) {
  for (const client of clients) client.slowDown(0);
  return { event: inOrder(counters) };
}

const inOrder = (counters) => (client, bytes, at) => {
  counters.received++;
  const sent = readStamp(bytes, at + BEFORE_TEXT);
  if (!(sent >= client.state)) counters.errors++;
  client.state = sent;
};
