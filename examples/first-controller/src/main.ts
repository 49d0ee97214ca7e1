// Runs the controller on the cluster of KUBECONFIG, ~/.kube/config or the pod, until Control-C or SIGTERM.
import { run } from '@kapstan/controller';
import { shouter } from './shout.ts';

console.log('working; Control-C ends it');
await run(shouter);
