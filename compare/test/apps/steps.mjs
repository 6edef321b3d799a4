// Steps for different.cjs.
const only = { client: 'only', namespace: '/' };

export default [
  { do: 'open', client: 'only', transport: 'websocket' },
  { do: 'connect', ...only },
  { do: 'emit', ...only, event: 'value', args: [], ack: true },
  { do: 'close', client: 'only' },
];
