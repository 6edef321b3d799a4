export default {
  build: ['cargo', 'build', '--release', '--locked', '--quiet'],
  run: ['target/release/peer'],
};
