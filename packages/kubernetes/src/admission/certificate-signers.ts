// CertificateApproval, CertificateSigning and ClusterTrustBundleAttest require the permission to act for the signer
// named in the object, besides the permission to write the object. Source: plugin/pkg/admission/certificates,
// pkg/certauthorization.

import type { DeepReadonly } from '@kapstan/api';
import { type AdmissionOperation, formatGroupResource } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, Authorizer, UserInfo } from '@kapstan/apiserver';
import { jsonEqual, refuse } from '@kapstan/apiserver/internal';

type Fields = DeepReadonly<{
  metadata?: Record<string, unknown>;
  spec?: { signerName?: string };
  status?: { certificate?: string; conditions?: readonly unknown[] };
}>;

interface SignerRule {
  readonly name: string;
  readonly groupResource: string;
  /** Absent = all subresources. */
  readonly subresource?: string;
  readonly operations: readonly AdmissionOperation[];
  /** The verb on signers. */
  readonly verb: string;
  /**
   * The object whose signer counts: for a request the present one, because its signer cannot change; for a bundle the
   * new one.
   */
  readonly signerOf: 'object' | 'oldObject';
  /** Returns false when nothing has changed that needs the permission. Default: always true. */
  concerns?(next: Fields, old: Fields | undefined): boolean;
  /** Text in the refusal before the signer's name. */
  readonly act: string;
}

const requests = 'certificatesigningrequests.certificates.k8s.io';

const rules: readonly SignerRule[] = [
  {
    name: 'CertificateApproval',
    groupResource: requests,
    subresource: 'approval',
    operations: ['UPDATE'],
    verb: 'approve',
    signerOf: 'oldObject',
    act: 'approve requests with',
  },
  {
    name: 'CertificateSigning',
    groupResource: requests,
    subresource: 'status',
    operations: ['UPDATE'],
    verb: 'sign',
    signerOf: 'oldObject',
    concerns: ({ status: next }, old) =>
      next?.certificate !== old?.status?.certificate ||
      !jsonEqual(next?.conditions ?? [], old?.status?.conditions ?? []),
    act: 'sign requests with',
  },
  {
    name: 'ClusterTrustBundleAttest',
    groupResource: 'clustertrustbundles.certificates.k8s.io',
    operations: ['CREATE', 'UPDATE'],
    verb: 'attest',
    signerOf: 'object',
    concerns: (next, old) =>
      (next.spec?.signerName ?? '') !== '' && !(old !== undefined && changesOwnersOnly(next, old)),
    act: 'attest for',
  },
];

export function certificateSigners(authorizer: Authorizer): readonly AdmissionPlugin[] {
  return rules.map((rule) => ({
    name: rule.name,
    validatedResources: [rule.groupResource],
    validate: (attributes) => requireSigner(rule, authorizer, attributes),
  }));
}

async function requireSigner(rule: SignerRule, authorizer: Authorizer, attributes: AdmissionAttributes): Promise<void> {
  const { operation, resource, subresource, context } = attributes;
  if (formatGroupResource(resource) !== rule.groupResource || !rule.operations.includes(operation)) return;
  if (rule.subresource !== undefined && rule.subresource !== subresource) return;
  const next = (attributes.object ?? {}) as Fields;
  const old = attributes.oldObject as Fields | undefined;
  if (rule.concerns?.(next, old) === false) return;
  const signerName = (rule.signerOf === 'object' ? next : old)?.spec?.signerName ?? '';
  if (await mayActFor(authorizer, { user: context.user, verb: rule.verb, signerName })) return;
  throw refuse(attributes, `user not permitted to ${rule.act} signerName ${JSON.stringify(signerName)}`);
}

/** Checks the signer by its name, or all signers of its domain: "example.com/*". Source: IsAuthorizedForSignerName. */
async function mayActFor(
  authorizer: Authorizer,
  { user, verb, signerName }: { readonly user: UserInfo; readonly verb: string; readonly signerName: string },
): Promise<boolean> {
  const [domain = ''] = signerName.split('/', 1);
  for (const name of [signerName, `${domain}/*`]) {
    const { decision } = await authorizer.authorize({
      type: 'resource',
      user,
      verb,
      group: 'certificates.k8s.io',
      version: '*',
      namespace: '',
      resource: 'signers',
      subresource: '',
      name,
    });
    if (decision === 'allow') return true;
  }
  return false;
}

/** True for writes of the garbage collector and of storage migration. Source: rbac.IsOnlyMutatingGCFields. */
function changesOwnersOnly(next: Fields, old: Fields): boolean {
  const rest = ({ metadata, ...fields }: Fields): unknown => {
    const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managed, ...kept } = metadata ?? {};
    return { ...fields, metadata: kept };
  };
  return jsonEqual(rest(next), rest(old));
}
