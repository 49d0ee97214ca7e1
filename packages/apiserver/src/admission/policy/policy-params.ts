// Finds the parameters with which a policy is evaluated for one binding and one request. Source:
// plugin/policy/generic CollectParams.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { PolicyFault } from './policy-fault.ts';
import type { AdmissionPolicy, ParamKind, ParamKinds, ParamRef, ParamResource } from './policy-source.ts';

export type Params = DeepReadonly<KubernetesObject> | undefined;

/** Returns the place of the parameters; undefined = there are none. Throws PolicyFault for an unknown kind. */
export function paramResourceOf({ paramKind }: AdmissionPolicy, kinds: ParamKinds): ParamResource | undefined {
  if (paramKind === undefined) return undefined;
  const found = kinds.find(paramKind);
  if (found !== undefined) return found;
  throw new PolicyFault(`failed to find resource referenced by paramKind: '${kindText(paramKind)}'`);
}

/** Formats a group, version and kind as Go does. */
function kindText({ apiVersion, kind }: ParamKind): string {
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

/** Stands for a single evaluation without parameters. */
const withoutParams: readonly Params[] = [undefined];

/**
 * Returns the parameters, one for each evaluation. Rejects with PolicyFault when parameters are required and there are
 * none. `namespace`: the request's.
 */
export async function collectParams(
  resource: ParamResource | undefined,
  ref: ParamRef | undefined,
  namespace: string,
): Promise<readonly Params[]> {
  if (resource === undefined || ref === undefined) return withoutParams;
  const found = await paramsIn(resource, ref, namespaceOf(resource, ref, namespace));
  if (found.length > 0 || !ref.isRequired) return found;
  throw new PolicyFault('no params found for policy binding with `Deny` parameterNotFoundAction');
}

function namespaceOf({ isNamespaced }: ParamResource, ref: ParamRef, namespace: string): string {
  if (!isNamespaced) {
    if (ref.namespace === '') return '';
    throw new PolicyFault('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  }
  if (ref.namespace !== '') return ref.namespace;
  if (namespace !== '') return namespace;
  throw new PolicyFault('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
}

async function paramsIn(
  resource: ParamResource,
  { name, selector }: ParamRef,
  namespace: string,
): Promise<readonly Params[]> {
  if (name !== '') {
    const found = await resource.get(namespace, name);
    return found === undefined ? [] : [found];
  }
  if (selector === undefined) throw new PolicyFault('one of name or selector must be provided');
  return resource.list(namespace, selector);
}
