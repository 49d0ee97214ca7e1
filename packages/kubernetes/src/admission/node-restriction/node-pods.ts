// Rules for nodes' requests about pods: a node may create its own mirror pods, and delete, evict and report on pods that run on it. Used by
// node-restriction.ts. Source: plugin/pkg/admission/noderestriction.
import type { DeepReadonly } from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import { type GroupVersionResource, goQuote } from '@kapstan/api/internal';
import type { AdmissionAttributes, ObjectReader } from '@kapstan/apiserver';
import { jsonEqual, refuse } from '@kapstan/apiserver/internal';
import type { Node, Pod } from '@kapstan/kinds/core/v1';
import { referenceOf } from './mirror-pod-references.ts';

const pods: GroupVersionResource = { group: '', version: 'v1', resource: 'pods' };
const nodes: GroupVersionResource = { group: '', version: 'v1', resource: 'nodes' };
const mirrorAnnotation = 'kubernetes.io/config.mirror';

type AnyPod = DeepReadonly<Pod>;

/** The node that asks. */
export interface AskingNode {
  readonly name: string;
  readonly reader: ObjectReader;
}

export async function admitPod(attributes: AdmissionAttributes, node: AskingNode): Promise<void> {
  const { subresource, operation } = attributes;
  const quoted = goQuote(node.name);
  if (subresource === '') {
    if (operation === 'CREATE') return admitMirrorPod(attributes, node);
    if (operation === 'DELETE')
      return requireOwn(attributes, node, `node ${quoted} can only delete pods with spec.nodeName set to itself`);
    const what = `unexpected operation ${goQuote(operation)}, node ${quoted} can only create and delete mirror pods`;
    throw refuse(attributes, what);
  }
  if (subresource === 'status') return admitStatus(attributes, quoted, node.name);
  if (subresource === 'eviction' && operation === 'CREATE')
    return requireOwn(attributes, node, `node ${node.name} can only evict pods with spec.nodeName set to itself`);
  if (subresource === 'eviction') throw refuse(attributes, `unexpected operation ${operation}`);
  const allowed = "only 'status' and 'eviction' are allowed";
  throw refuse(attributes, `unexpected pod subresource ${goQuote(subresource)}, ${allowed}`);
}

async function requireOwn(attributes: AdmissionAttributes, { name, reader }: AskingNode, why: string): Promise<void> {
  const pod = await podNamed(
    reader,
    attributes.namespace,
    attributes.name || (attributes.object?.metadata?.name ?? ''),
  );
  if (pod.spec?.nodeName !== name) throw refuse(attributes, why);
}

/** Rejects with a 404 when there is no such pod. */
export async function podNamed(reader: ObjectReader, namespace: string, name: string): Promise<AnyPod> {
  const found = await reader.get(pods, { namespace, name }, 'cached');
  if (found === undefined) throw notFound(pods, name);
  return found as AnyPod;
}

async function admitMirrorPod(attributes: AdmissionAttributes, { name, reader }: AskingNode): Promise<void> {
  const { metadata, spec } = attributes.object as AnyPod;
  const fault = mirrorPodFault(attributes.object as AnyPod, name);
  if (fault !== undefined) throw refuse(attributes, fault);
  const [owner] = metadata?.ownerReferences ?? [];
  const node = (await reader.get(nodes, { namespace: '', name }, 'cached')) as DeepReadonly<Node> | undefined;
  if (node === undefined) throw notFound(nodes, name);
  const { uid = '' } = node.metadata ?? {};
  if (owner?.uid !== uid) {
    throw refuse(attributes, `node ${name} UID mismatch: expected ${owner?.uid ?? ''} got ${uid}`);
  }
  const reference = referenceOf(spec ?? { containers: [] });
  if (reference !== undefined)
    throw refuse(attributes, `node ${goQuote(name)} can not create pods that reference ${reference}`);
}

function mirrorPodFault({ metadata, spec }: AnyPod, nodeName: string): string | undefined {
  const node = `node ${goQuote(nodeName)}`;
  if (!Object.hasOwn(metadata?.annotations ?? {}, mirrorAnnotation))
    return `pod does not have ${goQuote(mirrorAnnotation)} annotation, ${node} can only create mirror pods`;
  if (spec?.nodeName !== nodeName) return `${node} can only create pods with spec.nodeName set to itself`;
  const owners = metadata?.ownerReferences ?? [];
  const [owner] = owners;
  if (owners.length > 1) return `${node} can only create pods with a single owner reference set to itself`;
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== nodeName)
    return `${node} can only create pods with an owner reference set to itself`;
  if (owner.controller !== true) return `${node} can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `${node} must not set blockOwnerDeletion on an owner reference`;
  return undefined;
}

function admitStatus(attributes: AdmissionAttributes, quoted: string, name: string): void {
  const { operation, object, oldObject } = attributes;
  if (operation !== 'UPDATE') throw refuse(attributes, `unexpected operation ${goQuote(operation)}`);
  const [next, old] = [object as AnyPod, oldObject as AnyPod];
  if (old.spec?.nodeName !== name) {
    const why = `node ${quoted} can only update pod status for pods with spec.nodeName set to itself`;
    throw refuse(attributes, why);
  }
  if (!jsonEqual(old.metadata?.labels ?? {}, next.metadata?.labels ?? {}))
    throw refuse(attributes, `node ${quoted} cannot update labels through pod status`);
  if (!jsonEqual(old.status?.resourceClaimStatuses ?? [], next.status?.resourceClaimStatuses ?? []))
    throw refuse(attributes, `node ${quoted} cannot update resource claim statues`);
  if (!jsonEqual(old.status?.extendedResourceClaimStatus, next.status?.extendedResourceClaimStatus))
    throw refuse(attributes, `node ${quoted} cannot update extended resource claim status`);
}
