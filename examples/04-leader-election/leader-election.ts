// Several of these may run; one works, the others keep their caches warm and take over: at once when it is told to end, and
// after 15 to 20 s when it vanishes. Who loses the lease ends with an error, and needs something that starts it anew: kubelet,
// systemd, docker. The argument is this one's name.
import { controller, run } from '@kapstan/controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';

const identity = process.argv[2] ?? `process ${process.pid}`;

const greeter = controller(ConfigMap, { name: 'greeter' })
  .when(({ object }) => object?.metadata?.labels?.greet === 'yes')
  .reconcile(async ({ metadata }) => console.log(`${identity} greets ${metadata?.name}`));

await run(greeter, { leaderElection: { name: 'greeter', identity } });
console.log(`${identity} has ended`);
