import { expect, test } from '@jest/globals';
import { isList, sentinelOf, splitUrls } from '../../../../src/cluster/backplanes/redis/address.js';

test('a URL of Sentinel has the addresses of its servers, and one master', () => {
  const url = 'rediss-sentinel://ada:s%2Cecret@one,[::1]:5000/chat?db=2&sentinelUsername=u&sentinelPassword=p';
  expect(sentinelOf(url)).toEqual({
    sentinels: [
      { host: 'one', port: 26_379 },
      { host: '::1', port: 5000 },
    ],
    ...{ name: 'chat', db: 2, username: 'ada', password: 's,ecret', sentinelUsername: 'u', sentinelPassword: 'p' },
    ...{ tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true, sentinelCommandTimeout: 750 },
  });
  expect(sentinelOf('redis-sentinel://one/chat')).toEqual({
    ...{ sentinels: [{ host: 'one', port: 26_379 }], name: 'chat', db: 0, sentinelCommandTimeout: 1500 },
  });
  expect([isList(url), splitUrls(url)]).toEqual([false, [url]]);
  expect([isList('redis://a, redis://b'), sentinelOf('redis://a,redis://b')]).toEqual([true, undefined]);
});
