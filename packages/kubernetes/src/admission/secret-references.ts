// The secrets that a pod refers to, and whether its service account lists them. Used by service-account.ts. Source:
// plugin/pkg/admission/serviceaccount limitSecretReferences, pkg/api/pod VisitPodSecretNames.

import type { DeepReadonly } from '@kapstan/api';
import type { Container, EphemeralContainer, PodSpec, ServiceAccount } from '@kapstan/kinds/core/v1';
import { secretsOf } from '../core/pods/object-references.ts';

type Spec = DeepReadonly<PodSpec>;
type Account = DeepReadonly<ServiceAccount>;
type AnyContainer = DeepReadonly<Container | EphemeralContainer>;

interface Reference {
  /** "envVar E" or "envFrom". */
  readonly by: string;
  readonly secret: string;
}

function referencesOf({ env = [], envFrom = [] }: AnyContainer): Reference[] {
  const references: Reference[] = [];
  for (const { name, valueFrom } of env) {
    const { secretKeyRef } = valueFrom ?? {};
    if (secretKeyRef !== undefined) references.push({ by: `envVar ${name}`, secret: secretKeyRef.name ?? '' });
  }
  for (const { secretRef } of envFrom) {
    if (secretRef !== undefined) references.push({ by: 'envFrom', secret: secretRef.name ?? '' });
  }
  return references;
}

/** Names the container that refers to a secret which the account does not list; undefined when there is none. */
export function containerFault(
  what: string,
  containers: readonly AnyContainer[] | undefined,
  account: Account,
): string | undefined {
  const mountable = namesOf(account.secrets);
  for (const container of containers ?? []) {
    const bad = referencesOf(container).find(({ secret }) => !mountable.has(secret));
    if (bad === undefined) continue;
    const reference = `${bad.by} referencing secret.secretName="${bad.secret}"`;
    return `${what} ${container.name} with ${reference} ${notAllowed(account)} secret`;
  }
  return undefined;
}

/** Names the pod's secret that the account does not list; undefined when it lists all. */
export function secretFault(spec: Spec, account: Account): string | undefined {
  const mountable = namesOf(account.secrets);
  const volume = spec.volumes?.find(({ secret }) => secret !== undefined && !mountable.has(secret.secretName ?? ''));
  if (volume !== undefined)
    return `volume with secret.secretName="${volume.secret?.secretName ?? ''}" ${notAllowed(account)} secret`;
  const fault =
    containerFault('init container', spec.initContainers, account) ??
    containerFault('container', spec.containers, account);
  if (fault !== undefined) return fault;
  const pullable = namesOf(account.imagePullSecrets);
  const pulls = spec.imagePullSecrets ?? [];
  const at = pulls.findIndex(({ name = '' }) => !pullable.has(name));
  if (at === -1) return undefined;
  return `imagePullSecrets[${at}].name="${pulls[at]?.name ?? ''}" ${notAllowed(account)} imagePullSecret`;
}

function notAllowed({ metadata }: Account): string {
  return `is not allowed because service account ${metadata?.name} does not reference that`;
}

function namesOf(references: readonly { readonly name?: string }[] | undefined): ReadonlySet<string> {
  return new Set((references ?? []).map(({ name = '' }) => name));
}

/** True for a pod that uses any secret. */
export function hasSecrets(spec: Spec): boolean {
  return secretsOf(spec).length > 0;
}

/** True for a pod that gets a token through a volume. */
export function hasTokenVolume({ volumes = [] }: Spec): boolean {
  return volumes.some(({ projected }) =>
    (projected?.sources ?? []).some(({ serviceAccountToken }) => serviceAccountToken !== undefined),
  );
}
