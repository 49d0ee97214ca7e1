// OwnerReferencesPermissionEnforcement: naming an owner may cause the object's deletion, so it needs permission to
// delete the object; blocking an owner's deletion needs permission to set the owner's finalizers. Source:
// plugin/pkg/admission/gc.

import type { DeepReadonly, KubernetesObject, OwnerReference } from '@kapstan/api';
import { parseApiVersion } from '@kapstan/api/internal';
import type {
  AdmissionAttributes,
  AdmissionPlugin,
  AuthorizationAttributes,
  Authorizer,
  ResourceCatalog,
  UserInfo,
} from '@kapstan/apiserver';
import { jsonEqual, refuse } from '@kapstan/apiserver/internal';

type Owner = DeepReadonly<OwnerReference>;
type Question = Omit<Extract<AuthorizationAttributes, { type: 'resource' }>, 'type' | 'user'>;

const cannotBlock =
  "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";

/** This question comes first, because it does not depend on the owners' kinds. */
const anyFinalizers: Question = {
  verb: 'update',
  group: '*',
  version: '*',
  resource: '*',
  subresource: 'finalizers',
  namespace: '',
  name: '*',
};

export function ownerReferencesPermissionEnforcement(
  authorizer: Authorizer,
  catalog: ResourceCatalog,
): AdmissionPlugin {
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    validate: async (attributes) => {
      const { operation, object, oldObject } = attributes;
      if (operation === 'DELETE' || operation === 'CONNECT' || isPodStatus(attributes)) return;
      const [next, old] = [ownersOf(object), ownersOf(oldObject)];
      if (jsonEqual(next, old)) return;
      const ask = askOf(authorizer, attributes.context.user);
      // Creating an object with an owner causes no harm, because its creator might as well not have created it.
      const why = operation === 'CREATE' ? undefined : await ask(deletionOf(attributes));
      if (why !== undefined) throw refuse(attributes, `cannot set an ownerRef on a resource you can't delete: ${why}`);
      const blocked = new Set(old.filter(isBlocking).map(({ uid }) => uid));
      const blocking = next.filter((owner) => isBlocking(owner) && !blocked.has(owner.uid));
      if (blocking.length === 0 || (await ask(anyFinalizers)) === undefined) return;
      for (const owner of blocking)
        await requireFinalizers(attributes, questionsAbout(catalog, attributes, owner), ask);
    },
  };
}

/** Resolves to the reason of the refusal; undefined = allowed. */
type Ask = (question: Question) => Promise<string | undefined>;

function askOf(authorizer: Authorizer, user: UserInfo): Ask {
  return async (question) => {
    const { decision, reason, error } = await authorizer.authorize({ type: 'resource', user, ...question });
    return decision === 'allow' ? undefined : `${reason}, ${error?.message ?? '<nil>'}`;
  };
}

async function requireFinalizers(
  attributes: AdmissionAttributes,
  questions: readonly Question[],
  ask: Ask,
): Promise<void> {
  for (const question of questions) {
    const why = await ask(question);
    if (why !== undefined) throw refuse(attributes, `${cannotBlock}: ${why}`);
  }
}

/** Old kubelets send wrong owners here; the strategy keeps the right ones. */
function isPodStatus({ resource, subresource }: AdmissionAttributes): boolean {
  return resource.group === '' && resource.resource === 'pods' && subresource === 'status';
}

function ownersOf(object: DeepReadonly<KubernetesObject> | undefined): readonly Owner[] {
  return object?.metadata?.ownerReferences ?? [];
}

function isBlocking({ blockOwnerDeletion }: Owner): boolean {
  return blockOwnerDeletion === true;
}

function deletionOf({ resource, subresource, namespace, name }: AdmissionAttributes): Question {
  return { verb: 'delete', ...resource, subresource, namespace, name };
}

/** Returns one question per resource of the owner's kind. Throws when there is no such kind. */
function questionsAbout(
  catalog: ResourceCatalog,
  attributes: AdmissionAttributes,
  { apiVersion, kind, name }: Owner,
): readonly Question[] {
  const { group, version } = parseApiVersion(apiVersion);
  const definitions = catalog
    .all()
    .map(({ definition }) => definition)
    .filter((each) => each.group === group && each.version === version && each.kind === kind);
  if (definitions.length === 0) {
    const place = `APIVersion ${apiVersion} Kind ${kind}`;
    const why = `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`;
    const text = `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for ${place}: ${why}`;
    throw refuse(attributes, text);
  }
  return definitions.map(({ resource, namespaced }) => ({
    verb: 'update',
    group,
    version,
    resource,
    subresource: 'finalizers',
    // A namespaced owner is in the namespace of its dependent.
    namespace: namespaced ? attributes.namespace : '',
    name,
  }));
}
