// Watches the Pods of all namespaces and prints their changes, until SIGTERM or Control-C. An informer never gives up:
// when a watch breaks or goes silent it resumes and reports the missed changes.
import { connect } from '@kapstan/client';
import { SharedInformer } from '@kapstan/informers';
import { Pod } from '@kapstan/kinds/core/v1';

await using client = await connect(); // KUBECONFIG, ~/.kube/config, or the pod's service account
await using pods = new SharedInformer(client.listerWatcher(Pod));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void pods.close());

const finished = new Promise<void>((resolve) => {
  // A late subscriber gets the present objects, then `synced`, then changes.
  pods.events$.subscribe({
    next: (event) => {
      const phase = event.type === 'updated' ? event.oldObject.status?.phase : undefined;
      if (event.type === 'synced') console.log(`synced: ${pods.indexer.size} pods`);
      else if (phase === undefined || phase !== event.object?.status?.phase)
        console.log(`${event.type} ${event.key} ${event.object?.status?.phase ?? '-'}`);
    },
    complete: resolve,
  });
});
pods.start();
await finished;
