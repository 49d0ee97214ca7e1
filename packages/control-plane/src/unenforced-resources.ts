// Warnings for objects that kube-apiserver enforces and this server only stores. Used by serving.ts.
// Kinds that controllers act on, such as CronJobs, are not listed: a kube-controller-manager may run beside this server.

const unenforced: Readonly<Record<string, string>> = {};

/** Returns the warning texts by group resource. */
export function unenforcedWarnings(): ReadonlyMap<string, string> {
  const entries = Object.entries(unenforced);
  return new Map(entries.map(([id, why]) => [id, `${id} are stored by this server without effect: ${why}`]));
}
