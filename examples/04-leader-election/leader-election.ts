// Several instances may run: one works, the others keep their caches warm and take over, at once when the leader is stopped, and after 15
// to 20 s when it vanishes. An instance that loses the lease ends with an error, so something must restart it: kubelet, systemd, docker.
// The argument is the name of the instance.
import { controller, run } from '@kapstan/controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';

const identity = process.argv[2] ?? `process ${process.pid}`;

const greeter = controller(ConfigMap, { name: 'greeter' })
  .when(({ object }) => object?.metadata?.labels?.greet === 'yes')
  .reconcile(async ({ metadata }) => console.log(`${identity} greets ${metadata?.name}`));

await run(greeter, { leaderElection: { name: 'greeter', identity } });
console.log(`${identity} has ended`);
