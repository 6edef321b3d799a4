export default {
  build: ['go', 'build', '-o', 'target/peer', '.'],
  run: ['target/peer'],
  // One core, like every peer.
  env: { GOMAXPROCS: '1', GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
};
