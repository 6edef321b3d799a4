export default [{ do: 'dance', client: 'a' }];
