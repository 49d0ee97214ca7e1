// The Authorizer of --authorization-mode=Node, which decides about requests of kubelets. They read only objects that the pods on their
// nodes need, and change only their own objects; the admission plug-in NodeRestriction checks the contents of their writes. Source:
// plugin/pkg/auth/authorizer/node/node_authorizer.go.
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer, UserRules } from '@kapstan/apiserver';
import { type Rule, ruleAllows } from '@kapstan/apiserver/internal';
import { rbacPolicyFacts } from '@kapstan/kinds/facts';
import type { NodeGraph, VertexType } from './node-graph.ts';
import { nodeNameOf } from './node-identity.ts';

type ResourceAttributes = AuthorizationAttributes & { readonly type: 'resource' };

/** A request of the kubelet of one node. */
interface Asked {
  readonly node: string;
  readonly attributes: ResourceAttributes;
  readonly graph: NodeGraph;
}

type Decide = (asked: Asked) => AuthorizationDecision;

const allow: AuthorizationDecision = { decision: 'allow', reason: '' };
const silent: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

function refuse(reason: string): AuthorizationDecision {
  return { decision: 'noOpinion', reason };
}

const unlisted: UserRules = {
  resourceRules: [],
  nonResourceRules: [],
  incomplete: true,
  evaluationError: 'node authorizer does not support user rule resolution',
};
const noRules: UserRules = { resourceRules: [], nonResourceRules: [], incomplete: false };

/** Resources that are decided one by one, by group and name. */
const deciders: ReadonlyMap<string, Decide> = new Map<string, Decide>([
  ['/secrets', (asked) => readOne(asked, 'secret')],
  ['/configmaps', (asked) => readOne(asked, 'configmap')],
  ['/persistentvolumeclaims', decideClaim],
  ['/persistentvolumes', (asked) => getOne(asked, 'pv')],
  ['resource.k8s.io/resourceclaims', (asked) => getOne(asked, 'resourceclaim')],
  ['storage.k8s.io/volumeattachments', (asked) => getOne(asked, 'volumeattachment')],
  ['/serviceaccounts', decideServiceAccount],
  ['coordination.k8s.io/leases', decideLease],
  ['storage.k8s.io/csinodes', decideCsiNode],
  ['resource.k8s.io/resourceslices', decideSlice],
  ['/nodes', decideNode],
  ['/pods', decidePod],
  // The feature gate PodCertificateRequest is off by default, and then nodes have no part in these.
  ['certificates.k8s.io/podcertificaterequests', () => silent],
]);

/** Returns an authorizer that sees each change of the graph at once. */
export function nodeAuthorizer(graph: NodeGraph): Authorizer {
  const rules = nodeRules();
  return {
    authorize: (attributes) => {
      const { user } = attributes;
      const node = nodeNameOf(user);
      if (node === undefined) return silent;
      if (node === '') return refuse(`unknown node for user ${JSON.stringify(user.name)}`);
      if (attributes.type === 'resource') {
        const decide = deciders.get(`${attributes.group}/${attributes.resource}`);
        if (decide !== undefined) return decide({ node, attributes, graph });
      }
      return rules.some((rule) => ruleAllows(rule, attributes)) ? allow : silent;
    },
    rulesFor: (user) => (nodeNameOf(user) === undefined ? noRules : unlisted),
  };
}

/** Returns the rules of the role system:node. No binding names that role; this authorizer applies its rules to nodes. */
function nodeRules(): readonly Rule[] {
  const roles = rbacPolicyFacts().clusterRoles as readonly { metadata?: { name?: string }; rules?: readonly Rule[] }[];
  return roles.find(({ metadata }) => metadata?.name === 'system:node')?.rules ?? [];
}

/** Allows objects that are related to the node. */
function related({ node, attributes, graph }: Asked, type: VertexType): AuthorizationDecision {
  const { namespace, name } = attributes;
  if (name === '') return refuse('No Object name found');
  return graph.isRelated(node, { type, namespace, name }) ? allow : unrelated(node);
}

function unrelated(node: string): AuthorizationDecision {
  return refuse(`no relationship found between node '${node}' and this object`);
}

function getOne(asked: Asked, type: VertexType): AuthorizationDecision {
  const { verb, subresource } = asked.attributes;
  if (verb !== 'get') return refuse('can only get individual resources of this type');
  return subresource === '' ? related(asked, type) : refuse('cannot get subresource');
}

/** Lists and watches of one object count as reading it. */
function readOne(asked: Asked, type: VertexType): AuthorizationDecision {
  const { verb, subresource, namespace } = asked.attributes;
  if (!isRead(verb)) return refuse('can only read resources of this type');
  if (subresource !== '') return refuse('cannot read subresource');
  if (namespace === '') return refuse('can only read namespaced object of this type');
  return related(asked, type);
}

function isRead(verb: string): boolean {
  return verb === 'get' || verb === 'list' || verb === 'watch';
}

function decideClaim(asked: Asked): AuthorizationDecision {
  const { verb, subresource } = asked.attributes;
  if (subresource !== 'status') return getOne(asked, 'pvc');
  if (verb !== 'update' && verb !== 'patch') return refuse('can only get/update/patch this type');
  return related(asked, 'pvc');
}

/** A node may read the accounts of its pods, and request tokens for them. */
function decideServiceAccount(asked: Asked): AuthorizationDecision {
  const { verb, subresource, namespace, name } = asked.attributes;
  if (verb === 'get' && subresource === '') return readOne(asked, 'serviceAccount');
  if (verb !== 'create' || name === '') return refuse('can only create tokens for individual service accounts');
  if (subresource !== 'token') return refuse('can only create token subresource of serviceaccount');
  const isRelated = asked.graph.isRelated(asked.node, { type: 'serviceAccount', namespace, name });
  return isRelated ? allow : unrelated(asked.node);
}

const ownVerbs: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch', 'delete']);

/** The name is not known when an object is created, so NodeRestriction checks it then. */
function isOwn({ node, attributes: { verb, name } }: Asked): boolean {
  return verb === 'create' || name === node;
}

function decideLease(asked: Asked): AuthorizationDecision {
  const { verb, namespace } = asked.attributes;
  if (!ownVerbs.has(verb)) return refuse('can only get, create, update, patch, or delete a node lease');
  if (namespace !== 'kube-node-lease')
    return refuse('can only access leases in the "kube-node-lease" system namespace');
  return isOwn(asked) ? allow : refuse('can only access node lease with the same name as the requesting node');
}

function decideCsiNode(asked: Asked): AuthorizationDecision {
  const { verb, subresource } = asked.attributes;
  if (!ownVerbs.has(verb)) return refuse('can only get, create, update, patch, or delete a CSINode');
  if (subresource !== '') return refuse('cannot authorize CSINode subresources');
  return isOwn(asked) ? allow : refuse('can only access CSINode with the same name as the requesting node');
}

const sliceVerbs = 'get, watch, list, create, update, patch, delete, deletecollection';

/** The graph knows the node of a slice that exists. NodeRestriction checks the node of a new one. */
function decideSlice(asked: Asked): AuthorizationDecision {
  const { verb, subresource } = asked.attributes;
  if (subresource !== '') return refuse('cannot authorize ResourceSlice subresources');
  switch (verb) {
    case 'create':
      return allow;
    case 'get':
    case 'update':
    case 'patch':
    case 'delete':
      return related(asked, 'resourceslice');
    case 'watch':
    case 'list':
    case 'deletecollection':
      if (selects(asked, 'spec.nodeName')) return allow;
      return refuse('can only list/watch/deletecollection resourceslices with nodeName field selector');
    default:
      return refuse(`only the following verbs are allowed for a ResourceSlice: ${sliceVerbs}`);
  }
}

/** True when the request is limited to objects whose field is the name of the node. */
function selects({ node, attributes }: Asked, field: string): boolean {
  const terms = attributes.fieldSelector?.requirements ?? [];
  return terms.some((term) => term.field === field && term.operator === '=' && term.value === node);
}

/** The node's own name is compared, not looked up, so that a kubelet may ask for its node before it exists. */
function decideNode({ node, attributes: { verb, subresource, name } }: Asked): AuthorizationDecision {
  const isWrite = verb === 'update' || verb === 'patch';
  if (subresource === 'status') return isWrite ? allow : silent;
  if (subresource !== '') return silent;
  if (isWrite || verb === 'create') return allow;
  if (!isRead(verb)) return silent;
  if (name === node) return allow;
  const whose = name === '' ? 'all nodes' : `'${name}'`;
  return refuse(`node '${node}' cannot read ${whose}, only its own Node object`);
}

/** NodeRestriction limits writes to pods of the node, and new pods to mirror pods. */
function decidePod(asked: Asked): AuthorizationDecision {
  const { verb, subresource } = asked.attributes;
  switch (subresource) {
    case '':
      return decideWholePod(asked);
    case 'status':
      return verb === 'update' || verb === 'patch' ? allow : silent;
    case 'eviction':
      return verb === 'create' ? allow : silent;
    default:
      return silent;
  }
}

function decideWholePod(asked: Asked): AuthorizationDecision {
  const { verb, name } = asked.attributes;
  if (verb === 'get') return getOne(asked, 'pod');
  if (verb === 'create' || verb === 'delete') return allow;
  if (!isRead(verb)) return silent;
  if (selects(asked, 'spec.nodeName')) return allow;
  if (name !== '') return related(asked, 'pod');
  return refuse('can only list/watch pods with spec.nodeName field selector');
}
