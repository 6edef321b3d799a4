export default {
  toolchain: ['cargo', '--version'],
  build: ['cargo', 'build', '--release', '--locked', '--quiet'],
  run: ['target/release/peer'],
};
