/** What capacity planning assumes. The report prints every value; costs are measured, never assumed. */
export const assumptions = {
  machine: {
    cores: { value: 16, about: 'cores per machine, with one worker each' },
    memory: { value: 64 * 2 ** 30, about: 'bytes of memory per machine' },
    network: { value: 10e9 / 8, about: 'bytes/s that its network card sends' },
    headroom: { value: 0.6, about: 'planned utilization of CPU, memory, network and Redis' },
  },
  wire: {
    segment: { value: 1448, about: 'bytes of payload in a TCP segment' },
    overhead: { value: 90, about: 'bytes of TCP, IP and Ethernet headers per segment' },
    frame: { value: 4, about: 'bytes of WebSocket framing per message' },
    readers: { value: 2, about: 'workers of a machine that subscribe to its frames: the gateway and its deputy' },
    window: { value: 0.025, about: 'seconds in which messages to one client share a segment (FLUSH_MS)' },
  },
  heartbeat: { value: 25, about: 'seconds between heartbeats' },
  rooms: {
    members: {
      value: 1000,
      about:
        'members per room; each user is in one room, and its members connect to any machine, unless a proxy places them',
    },
    elsewhere: {
      value: 0.05,
      about: 'other workers with members of a room that a proxy brings to one worker: one for every twentieth room',
    },
    perSecond: { value: 40, about: 'messages/s in each room, as in workload 1 with 10 publishers' },
    size: { value: 130, about: 'bytes per message' },
  },
  direct: {
    interval: { value: 30, about: 'seconds between two messages of a user' },
    size: { value: 150, about: 'bytes of a message, which goes to the recipient and back to the sender' },
  },
  market: {
    perSecond: { value: 10, about: 'messages/s to each client' },
    size: { value: 10_000, about: 'bytes per message' },
  },
  idle: {
    interval: { value: 25, about: 'seconds between two texts of a client, each echoed' },
    size: { value: 40, about: 'bytes of a text, including its event' },
  },
  slow: {
    perSecond: { value: 1500, about: 'messages/s from a single source to every client' },
    size: { value: 145, about: 'bytes per message' },
    share: { value: 0.1, about: 'share of clients that do not keep up' },
    backlog: { value: 2 ** 20, about: 'bytes buffered for each of these (MAX_BACKPRESSURE)' },
  },
};
