const copyLibraries = 'org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies';
const compile = 'org.apache.maven.plugins:maven-compiler-plugin:3.15.0:compile';

export default {
  // What the JVM compiles while a row is measured would be counted as the row's.
  warmUp: 15,
  build: ['mvn', '--batch-mode', '--quiet', compile, copyLibraries, '-DoutputDirectory=target/lib'],
  // One core, like every peer. With one, the JVM chooses its serial collector by itself; the heap is given room so that it
  // rarely runs. Threads of the compiler stay, so that what they have used is counted.
  run: [
    ...['java', '-XX:ActiveProcessorCount=1', '-XX:+UseSerialGC', '-Xms256m', '-Xmx1g'],
    ...['-XX:-UseDynamicNumberOfCompilerThreads', '-Dio.netty.leakDetection.level=disabled'],
    ...['-cp', 'target/classes:target/lib/*', 'peer.Main'],
  ],
};
