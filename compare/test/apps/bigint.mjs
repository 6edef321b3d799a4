export default [
  { do: 'open', client: 'a', transport: 'websocket' },
  { do: 'emit', client: 'a', namespace: '/', event: 'count', args: [1n] },
];
