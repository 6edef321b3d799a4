export default {
  // What the JVM compiles while a row is measured would be counted as the row's.
  warmUp: 15,
  toolchain: ['mvn', '--version'],
  build: ['mvn', '--batch-mode', '--quiet', 'package'],
  // One core, like every peer. With one, the JVM chooses its serial collector by itself; the heap is given room so that it
  // rarely runs. Threads of the compiler stay, so that what they have used is counted.
  run: [
    'java',
    '-XX:ActiveProcessorCount=1',
    '-XX:+UseSerialGC',
    '-Xms256m',
    '-Xmx1g',
    '-XX:-UseDynamicNumberOfCompilerThreads',
    '-Dio.netty.leakDetection.level=disabled',
    '-jar',
    'target/peer.jar',
  ],
};
