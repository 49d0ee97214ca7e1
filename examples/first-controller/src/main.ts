// Runs the controller on the cluster of the kubeconfig, until Control-C or SIGTERM.
import process from 'node:process';
import { connect } from '@kapstan/client';
import { shout } from './shout.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
await using client = await connect(); // KUBECONFIG, ~/.kube/config, or the pod's service account
console.log('working; Control-C ends it');
await shout(client, stop.signal);
