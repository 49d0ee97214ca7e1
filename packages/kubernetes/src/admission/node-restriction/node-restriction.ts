// NodeRestriction limits a kubelet's changes to its own node and the pods on it, whatever its roles allow. Source:
// plugin/pkg/admission/noderestriction.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import { formatGroupResource, goQuote } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, Authorizer, ObjectReader } from '@kapstan/apiserver';
import { jsonEqual, refuse } from '@kapstan/apiserver/internal';
import type { CertificateSigningRequest } from '@kapstan/kinds/certificates.k8s.io/v1';
import type { PersistentVolumeClaim } from '@kapstan/kinds/core/v1';
import type { ResourceSlice } from '@kapstan/kinds/resource.k8s.io/v1';
import { requestedCommonName } from '../../certificates/certificatesigningrequests/request-subject.ts';
import { nodeNameOf, nodeUserPrefix } from '../../node-authorizer/node-identity.ts';
import { type AskingNode, admitPod } from './node-pods.ts';
import { admitToken } from './node-tokens.ts';
import { admitNode } from './own-node.ts';

const leaseNamespace = 'kube-node-lease';
const kubeletSigners: ReadonlySet<string> = new Set([
  'kubernetes.io/kubelet-serving',
  'kubernetes.io/kube-apiserver-client-kubelet',
]);

export class NodeRestriction implements AdmissionPlugin {
  readonly name = 'NodeRestriction';
  readonly #reader: ObjectReader;
  readonly #authorizer: Authorizer;

  constructor(reader: ObjectReader, authorizer: Authorizer) {
    this.#reader = reader;
    this.#authorizer = authorizer;
  }

  admit(attributes: AdmissionAttributes): Promise<void> | void {
    const { user } = attributes.context;
    const name = nodeNameOf(user);
    if (name === undefined) return;
    if (name === '') throw refuse(attributes, `could not determine node from user ${goQuote(user.name)}`);
    return this.#admitNode(attributes, { name, reader: this.#reader });
  }

  #admitNode(attributes: AdmissionAttributes, node: AskingNode): Promise<void> | void {
    switch (formatGroupResource(attributes.resource)) {
      case 'pods':
        return admitPod(attributes, node);
      case 'nodes':
        return admitNode(attributes, node.name);
      case 'persistentvolumeclaims':
        return admitClaim(attributes, node.name);
      case 'serviceaccounts':
        return admitToken(attributes, node, this.#authorizer);
      case 'leases.coordination.k8s.io':
        return admitLease(attributes, node.name);
      case 'csinodes.storage.k8s.io':
        return requireOwnName(attributes, node.name, 'CSINode');
      case 'resourceslices.resource.k8s.io':
        return admitSlice(attributes, node.name);
      case 'certificatesigningrequests.certificates.k8s.io':
        return admitRequest(attributes, node.name);
      case 'podcertificaterequests.certificates.k8s.io':
        throw refuse(attributes, 'PodCertificateRequest feature gate is disabled');
      default:
        return;
    }
  }
}

/** A node reports how far the resizing of a volume is. */
function admitClaim(attributes: AdmissionAttributes, name: string): void {
  const { subresource, operation, object, oldObject } = attributes;
  if (subresource !== 'status') throw refuse(attributes, 'may only update PVC status');
  if (operation !== 'UPDATE') throw refuse(attributes, `unexpected operation ${goQuote(operation)}`);
  const [next, old] = [object as DeepReadonly<PersistentVolumeClaim>, oldObject as DeepReadonly<PersistentVolumeClaim>];
  if (jsonEqual(withoutProgress(next), withoutProgress(old))) return;
  const only = 'fields other than status.quantity and status.conditions';
  throw refuse(attributes, `node ${goQuote(name)} is not allowed to update ${only}`);
}

/** Returns the claim without the fields that a node may change. */
function withoutProgress(claim: DeepReadonly<PersistentVolumeClaim>): object {
  const { metadata, status, ...rest } = deepCopy(claim) as PersistentVolumeClaim;
  const { resourceVersion: _version, managedFields: _entries, ...meta } = metadata ?? {};
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _allocated,
    allocatedResourceStatuses: _statuses,
    ...others
  } = status ?? {};
  return { ...rest, metadata: meta, status: others };
}

function admitLease(attributes: AdmissionAttributes, name: string): void {
  if (attributes.namespace !== leaseNamespace)
    throw refuse(attributes, `can only access leases in the ${goQuote(leaseNamespace)} system namespace`);
  requireOwnName(attributes, name, 'node lease');
}

/** A created object carries its own name. */
function requireOwnName(attributes: AdmissionAttributes, name: string, what: string): void {
  const { operation, object } = attributes;
  const own = operation === 'CREATE' ? object?.metadata?.name : attributes.name;
  if (own !== name) throw refuse(attributes, `can only access ${what} with the same name as the requesting node`);
}

function admitSlice(attributes: AdmissionAttributes, name: string): void {
  const { operation, object, oldObject } = attributes;
  if (operation === 'UPDATE') return;
  const slice = (operation === 'CREATE' ? object : oldObject) as DeepReadonly<ResourceSlice> | undefined;
  if (slice?.spec?.nodeName === name) return;
  const verb = operation === 'CREATE' ? 'create' : 'delete';
  throw refuse(attributes, `can only ${verb} ResourceSlice with the same NodeName as the requesting node`);
}

function admitRequest(attributes: AdmissionAttributes, name: string): void {
  const { spec } = (attributes.object ?? {}) as CertificateSigningRequest;
  if (attributes.operation !== 'CREATE' || !kubeletSigners.has(spec?.signerName ?? '')) return;
  if (commonNameOf(attributes, spec?.request ?? '') === `${nodeUserPrefix}${name}`) return;
  throw refuse(attributes, `can only create a node CSR with CN=${nodeUserPrefix}${name}`);
}

function commonNameOf(attributes: AdmissionAttributes, request: string): string {
  try {
    return requestedCommonName(request);
  } catch (error) {
    throw refuse(attributes, `unable to parse csr: ${(error as Error).message}`);
  }
}
