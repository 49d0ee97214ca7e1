// rightsOf: the rights that controllers and their manager need, computed from their declarations. It is next to the code that makes the
// requests, so that both change together. roles.ts turns rights into objects of RBAC.
import type { DefinedResource, Resource } from '@kapstan/api';
import { isDefinedResource } from '@kapstan/api/internal';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { Event } from '@kapstan/kinds/core/v1';
import type { Controller } from '../builder/controller-builder.ts';
import type { ManagerOptions } from '../manager/manager-options.ts';
import type { Right } from './right.ts';
import { rightsOfWebhooks } from './webhook-rights.ts';

/** Options of a manager or of `run` on which rights depend. */
export type RightsOptions = Pick<ManagerOptions, 'namespaces' | 'leaderElection' | 'installCrds' | 'webhooks'>;

const read = ['get', 'list', 'watch'];
const apply = ['create', 'patch'];

/**
 * Returns the minimum rights with which these controllers can do what they declare, in a fixed order.
 *
 * @example
 * ```ts
 * import { controller, rightsOf, rolesOf } from '@kapstan/controller';
 * import { Deployment } from '@kapstan/kinds/apps/v1';
 * import { ConfigMap } from '@kapstan/kinds/core/v1';
 *
 * const settings = controller(Deployment)
 *   .owns(ConfigMap)
 *   .reconcile(async ({ metadata }, { apply }) => {
 *     await apply(ConfigMap, { metadata: { name: `${metadata.name}-settings` } });
 *   });
 * // What `kapstan generate rbac` writes.
 * console.log(rolesOf(rightsOf([settings]), { name: 'settings' }));
 * ```
 */
export function rightsOf(controllers: readonly Controller[], options: RightsOptions = {}): readonly Right[] {
  const { namespaces = [], leaderElection = false, installCrds = false, webhooks = false } = options;
  const placed = controllers
    .flatMap((controller) => rightsOfController(controller))
    .flatMap((right) => inNamespaces(right, namespaces));
  const definitions = installCrds ? rightsToInstall(controllers) : [];
  const serving = webhooks === false ? [] : rightsOfWebhooks(controllers, webhooks, leaderElection);
  return [...placed, ...definitions, ...serving, ...(leaderElection === false ? [] : rightsToLead(leaderElection))];
}

type UnplacedRight = Right & { readonly scope: Resource['scope'] };

function rightsOfController(controller: Controller): readonly UnplacedRight[] {
  const { name, resource, sources, indexes, finalizers, needs } = controller;
  const owned = sources.flatMap((source) => (source.type === 'owned' ? [source.resource] : []));
  const watched = sources.flatMap((source) => (source.type === 'watched' ? [source.resource] : []));
  const owning = owned.map((kind) => rightOf(kind, { verbs: [...read, ...apply], why: `${name} owns ${kind.kind}` }));
  const watching = watched.map((kind) => rightOf(kind, { verbs: read, why: `${name} watches ${kind.kind}` }));
  const indexing = indexes.map(({ resource: kind }) =>
    rightOf(kind, { verbs: read, why: `${name} indexes ${kind.kind}` }),
  );
  const declared = needs.map((need) => ({
    ...rightOf(need.resource, { verbs: need.verbs, why: `${name} needs it`, subresource: need.subresource }),
    names: need.names,
    namespace: need.namespace,
  }));
  // Events about objects without a namespace are in "default".
  const place = resource.scope === 'Cluster' ? { namespace: 'default' } : {};
  const recording = { ...rightOf(Event, { verbs: apply, why: `${name} records events` }), ...place };
  const own = rightsToReconcile(controller, { isOwner: owned.length > 0, hasFinalizers: finalizers.length > 0 });
  return [...own, ...owning, ...watching, ...indexing, ...declared, recording];
}

function rightsToReconcile(
  { name, resource }: Controller,
  { isOwner, hasFinalizers }: { readonly isOwner: boolean; readonly hasFinalizers: boolean },
): readonly UnplacedRight[] {
  const reading = rightOf(resource, { verbs: read, why: `${name} reconciles ${resource.kind}` });
  const finalizing = rightOf(resource, { verbs: ['patch'], why: `${name} has finalizers` });
  // Required by the plug-in OwnerReferencesPermissionEnforcement, which some distributions turn on.
  const blocking = rightOf(resource, { verbs: ['update'], why: `${name} is an owner`, subresource: 'finalizers' });
  const why = `${name} reports the status of ${resource.kind}`;
  const reporting = rightOf(resource, { verbs: ['patch'], why, subresource: 'status' });
  return [
    reading,
    ...(hasFinalizers ? [finalizing] : []),
    ...(isOwner ? [blocking] : []),
    ...(hasStatus(resource) ? [reporting] : []),
  ];
}

/** Only a definition shows whether there is a status; for other kinds a controller declares that it writes one. */
function hasStatus(resource: Resource): boolean {
  if (!isDefinedResource(resource)) return false;
  const { spec } = resource.definition as DefinedResource['definition'] & { readonly spec?: DefinitionSpec };
  return (
    spec?.versions?.some(
      ({ name, subresources }) => name === resource.version && subresources?.status !== undefined,
    ) === true
  );
}

interface DefinitionSpec {
  readonly versions?: readonly { readonly name: string; readonly subresources?: { readonly status?: object } }[];
}

interface Need {
  readonly verbs: readonly string[];
  readonly why: string;
  readonly subresource?: string | undefined;
}

function rightOf({ group, plural, scope }: Resource, { verbs, why, subresource }: Need): UnplacedRight {
  return { group, resource: subresource === undefined ? plural : `${plural}/${subresource}`, verbs, why, scope };
}

/** A manager that is limited to namespaces needs no more, except for cluster-scoped kinds. */
function inNamespaces({ scope, ...right }: UnplacedRight, namespaces: readonly string[]): readonly Right[] {
  if (scope === 'Cluster' || right.namespace !== undefined || namespaces.length === 0) return [right];
  return namespaces.map((namespace) => ({ ...right, namespace }));
}

function rightsToInstall(controllers: readonly Controller[]): readonly Right[] {
  const kinds = controllers.flatMap(({ resource, sources, indexes }) => [
    resource,
    ...sources.flatMap((source) => (source.type === 'trigger' ? [] : [source.resource])),
    ...indexes.map((index) => index.resource),
  ]);
  const names = [...new Set(kinds.filter(isDefinedResource).map(({ definition }) => definition.metadata.name))].sort();
  if (names.length === 0) return [];
  // An apply that creates is authorized with the name, and so is a list of one name; a plain create would not be.
  const { group, plural } = CustomResourceDefinition;
  return [{ group, resource: plural, verbs: [...read, ...apply], names, why: 'installCrds is set' }];
}

function rightsToLead({
  name,
  namespace = 'default',
}: Exclude<ManagerOptions['leaderElection'], false | undefined>): readonly Right[] {
  const { group, plural } = Lease;
  const why = `the leader of ${name} is elected`;
  return [
    // A create has no name that could be checked.
    { group, resource: plural, verbs: ['create'], namespace, why },
    { group, resource: plural, verbs: ['get', 'update'], names: [name], namespace, why },
    { group: Event.group, resource: Event.plural, verbs: apply, namespace, why },
  ];
}
