// Says to which controller each pod of a cluster belongs, in the order of a list. The shares are those of the load test
// of Kubernetes' SIG Scalability (perf-tests, clusterloader2/testing/load): half of the pods in small groups of 5, a
// quarter in groups of 30, a quarter in groups of 250. We spread the sizes where it has a single one, and add daemon
// sets: at 30 pods per node, its default, 8 that run on every node (proxy, network, storage, logs, metrics and the
// like) are about a quarter of all pods.

const podsPerNode = 30;
const daemonSets = 8;

/** Replicas of small controllers, repeated by frequency: half of them have one, most others two or three. */
const smallSizes = [1, 1, 1, 1, 1, 2, 2, 3, 3, 5];
const middleSizes = [10, 15, 20, 30, 50];
const bigSizes = [80, 120, 200];

/** Returns one `{ set, kind }` per pod: `set` numbers the controllers, `kind` is 'ReplicaSet' or 'DaemonSet'. */
export function clusterPopulation(pods) {
  const nodes = Math.max(1, Math.round(pods / podsPerNode));
  const sets = Array.from({ length: daemonSets }, () => ({ kind: 'DaemonSet', replicas: nodes }));
  const rest = pods - daemonSets * nodes;
  for (const [sizes, share] of [
    [smallSizes, 1 / 2],
    [middleSizes, 1 / 4],
    [bigSizes, 1 / 4],
  ]) {
    for (let made = 0, index = 0; made < rest * share; index += 1) {
      const replicas = sizes[index % sizes.length];
      sets.push({ kind: 'ReplicaSet', replicas });
      made += replicas;
    }
  }
  const owners = mixed(sets).flatMap(({ kind, replicas }, set) =>
    Array.from({ length: replicas }, () => ({ set, kind })),
  );
  return owners.slice(0, pods);
}

/**
 * Shuffles the controllers in a fixed way, because a list in the order of names has big and small ones side by side.
 */
function mixed(sets) {
  const stride = 7919;
  return sets.map((_, index) => sets[(index * stride) % sets.length]);
}
