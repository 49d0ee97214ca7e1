// What a kube-apiserver enforces and this server does not: whoever writes such an object is told in a warning. Used by serving.ts.
// What controllers beside a server act on, such as CronJobs, is not here: a kube-controller-manager may well run beside this one.

const unenforced: Readonly<Record<string, string>> = {
  'validatingwebhookconfigurations.admissionregistration.k8s.io': 'no webhook is called',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': 'no webhook is called',
  'validatingadmissionpolicies.admissionregistration.k8s.io': 'no policy is evaluated',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': 'no policy is evaluated',
  'mutatingadmissionpolicies.admissionregistration.k8s.io': 'no policy is evaluated',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io': 'no policy is evaluated',
  resourcequotas: 'no quota is enforced',
  limitranges: 'no limit is enforced and no default is set',
};

/** Texts of warnings by group resource. */
export function unenforcedWarnings(): ReadonlyMap<string, string> {
  const entries = Object.entries(unenforced);
  return new Map(entries.map(([id, why]) => [id, `${id} are stored by this server without effect: ${why}`]));
}
