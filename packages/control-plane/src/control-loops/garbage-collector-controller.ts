// garbage-collector-controller deletes objects whose owners are gone, and lets owners wait for their dependents or orphan them.
// It feeds the graph from the informers and works through the nodes that the graph reports. Source: pkg/controller/garbagecollector.
import type { DeepReadonly, KubernetesObject, Resource } from '@kapstan/api';
import { apiVersionOf } from '@kapstan/api';
import { EventRecorder, type ReconcileRequest } from '@kapstan/controller';
import type { RateLimitingQueue } from '@kapstan/controller/workqueue';
import { type ControlLoop, type ControlLoopContext, loopQueue, runQueue } from './control-loop.ts';
import { DependencyGraph, type GraphNode } from './dependency-graph.ts';
import { GarbageCollector } from './garbage-collector.ts';
import { LiveObjects } from './live-objects.ts';
import { formatIdentity, type ObjectIdentity } from './object-identity.ts';

const workers = 20;
/** Time after which collection starts without the kinds that could not be listed. */
const syncTimeoutMs = 30_000;

export const garbageCollectorController: ControlLoop = async (context, signal) => {
  const { client, clock, logger, kinds } = context;
  const queue = loopQueue(context, { name: 'garbage_collector_attempt_to_delete', signal });
  const events = new EventRecorder({ client, clock, logger, component: 'garbage-collector-controller' });
  const enqueue = ({ id }: GraphNode): void => queue.add(String(id));
  const graph = new DependencyGraph({
    onAttempt: enqueue,
    onRetry: ({ id }) => queue.addRateLimited(String(id)),
    onInvalidOwner: (dependent, owner) => recordInvalidOwner(events, dependent, owner),
  });
  const collector = new GarbageCollector({ graph, objects: new LiveObjects(client, kinds, signal), enqueue });
  const { unknown, unfollow } = followKinds(context, graph, queue);
  const whenSynced = (): Promise<boolean> => kinds.whenSynced({ timeoutMs: syncTimeoutMs, signal });
  const reconcile = async ({ key }: ReconcileRequest): Promise<{ readonly requeueAfterMs: 0 } | undefined> => {
    const node = graph.find(Number(key));
    if (node === undefined) return;
    // Dependents of a new kind may not be in the graph yet. Without a wait they would later be collected as garbage.
    if (node.isOrphaning) await whenSynced();
    const verdict = await collector.process(node);
    if (verdict === 'done') return;
    if (verdict === 'unknown-kind') unknown.add(key);
    return { requeueAfterMs: 0 };
  };
  try {
    if (!(await whenSynced()) && !signal.aborted) logger.warn('not all kinds could be listed; continuing without them');
    context.onSynced();
    await runQueue(context, { queue, reconcile, workers }, signal);
  } finally {
    unfollow();
    await events.close();
  }
};

interface FollowedGraph {
  /** Keys of nodes whose kind was not served when they were processed. */
  readonly unknown: Set<string>;
  readonly unfollow: () => void;
}

/** Updates the graph from the informers of all kinds. */
function followKinds(
  { kinds }: ControlLoopContext,
  graph: DependencyGraph,
  queue: RateLimitingQueue<string>,
): FollowedGraph {
  const unknown = new Set<string>();
  const unfollow = kinds.follow({
    onChange: (token, object, old) => {
      // A relist also reports objects that have not changed.
      if (object.metadata?.resourceVersion === old?.metadata?.resourceVersion) return;
      graph.observe(identityOf(token, object), object.metadata ?? {});
    },
    onDelete: (token, object) => graph.remove(identityOf(token, object)),
    onKindsChange: () => {
      for (const key of unknown) queue.add(key);
      unknown.clear();
    },
  });
  return { unknown, unfollow };
}

function identityOf(token: Resource, { metadata }: DeepReadonly<KubernetesObject>): ObjectIdentity {
  const { name = '', namespace = '', uid = '' } = metadata ?? {};
  return { apiVersion: apiVersionOf(token), kind: token.kind, name, uid, namespace };
}

function recordInvalidOwner(events: EventRecorder, dependent: ObjectIdentity, owner: ObjectIdentity): void {
  const { apiVersion, kind, name, uid, namespace } = dependent;
  const message = `ownerRef ${formatIdentity(owner)} does not exist in namespace ${JSON.stringify(namespace)}`;
  const object = { apiVersion, kind, metadata: { name, uid, ...(namespace === '' ? {} : { namespace }) } };
  events.record(object, { type: 'Warning', reason: 'OwnerRefInvalidNamespace', message });
}
