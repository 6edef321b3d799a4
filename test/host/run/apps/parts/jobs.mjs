// Does its work in a worker of its own.
import cluster from 'node:cluster';

if (cluster.isPrimary) {
  cluster.fork().once('exit', (code) => process.exit(code));
} else {
  console.log('a job runs');
  process.exit(0);
}
