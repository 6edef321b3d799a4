export default [{ do: 'connect', client: 'a', namespace: '/' }];
