// Warnings for objects that this server stores but on which nothing in it acts. Used by serving.ts. Workloads such as Deployments are not
// listed, because without a controller users see at once that no pod appears; nor are Ingresses and CertificateSigningRequests, because
// Kubernetes itself leaves the first to an add-on, and the second visibly lack their certificate.

const unenforced: Readonly<Record<string, string>> = {
  'horizontalpodautoscalers.autoscaling': 'it runs no controller that scales',
  'networkpolicies.networking.k8s.io': 'it runs no network that could follow them',
};

/** Returns the warning texts by group resource. */
export function unenforcedWarnings(): ReadonlyMap<string, string> {
  const entries = Object.entries(unenforced);
  return new Map(entries.map(([id, why]) => [id, `${id} are stored by this server without effect: ${why}`]));
}
