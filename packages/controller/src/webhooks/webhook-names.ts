// Names of the objects that a program with webhooks writes. The code that writes them and the code that computes rights and manifests share
// these names.
import type { SecretName } from './certificate-store.ts';
import { isFromFiles, type WebhookOptions } from './webhook-options.ts';

/** Returns the default of `webhooks.name`, after the Lease of the leader election or the first controller. */
export function configurationsName(
  controllers: readonly { readonly name: string }[],
  leaderElection: false | { readonly name: string } | undefined,
): string {
  return `${(leaderElection || controllers[0])?.name ?? 'kapstan'}-webhooks`;
}

/**
 * Returns the Secret in which replicas share self-made certificates; undefined = they come from files, or each replica has its own in
 * memory.
 */
export function certificatesSecret({
  certificates = {},
  service,
}: Pick<WebhookOptions, 'certificates' | 'service'>): SecretName | undefined {
  if (isFromFiles(certificates)) return undefined;
  return certificates.secret ?? (service && defaultSecret(service));
}

/** Returns the Secret of a Service's certificates. */
function defaultSecret({ name, namespace }: SecretName): SecretName {
  return { name: `${name}-webhook-certificates`, namespace };
}
