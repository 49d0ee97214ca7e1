// A user who writes a policy or a binding with parameters must be able to read these, because messages may reveal them. Source:
// pkg/registry/admissionregistration/validatingadmissionpolicy/authz.go and its siblings.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { type FieldError, forbiddenField } from '@kapstan/api/errors';
import { mastersGroup, type RequestContext, type UserInfo } from '@kapstan/apiserver';
import { jsonEqual, type PermitWrite } from '@kapstan/apiserver/internal';
import type { ParamKind, ParamRef } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';

interface Policy extends KubernetesObject {
  readonly spec?: { readonly paramKind?: ParamKind };
}

interface Binding extends KubernetesObject {
  readonly spec?: { readonly policyName?: string; readonly paramRef?: ParamRef };
}

/** The resource that the user must be allowed to read. "*" = all groups, versions or resources. */
interface AskedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

const anything: AskedResource = { group: '*', version: '*', resource: '*' };

export function permitPolicy(server: BuiltinServer): PermitWrite<KubernetesObject> {
  return async (policy, old, context) => {
    const paramKind = (policy as DeepReadonly<Policy>).spec?.paramKind;
    if (paramKind === undefined || jsonEqual(paramKind, (old as DeepReadonly<Policy> | undefined)?.spec?.paramKind))
      return [];
    const asked = { ...resourceOf(paramKind, server), verb: 'get', namespace: '*', name: '*' };
    if (await mayRead(asked, { context, server })) return [];
    const { kind, apiVersion } = paramKind;
    const why = `user ${userText(context.user)} must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
    return [forbiddenField('spec.paramKind', why)];
  };
}

/** Permits a binding whose author may read its parameters. `policies` is the resource of the policies that bindings name. */
export function permitBinding(server: BuiltinServer, policies: string): PermitWrite<KubernetesObject> {
  return async (binding, old, context) => {
    const { paramRef, policyName = '' } = (binding as DeepReadonly<Binding>).spec ?? {};
    const { paramRef: oldRef, policyName: oldName } = (old as DeepReadonly<Binding> | undefined)?.spec ?? {};
    if (paramRef === undefined || (jsonEqual(paramRef, oldRef) && policyName === oldName)) return [];
    const found = await findPolicy(server, policies, policyName);
    const paramKind = found?.spec?.paramKind;
    const { name = '', namespace = '' } = paramRef;
    const verb = name === '' ? 'list' : 'get';
    const resource = paramKind === undefined ? anything : resourceOf(paramKind, server);
    if (await mayRead({ ...resource, verb, namespace, name }, { context, server })) return [];
    const user = userText(context.user);
    const unknown = unknownResource({ policyName, isPolicyFound: found !== undefined, paramKind, resource });
    if (unknown === undefined)
      return forbiddenRef(`user ${user} does not have "${verb}" permission on the object referenced by paramRef`);
    const all = `does not have "${verb}" permission for all groups, versions and resources`;
    return forbiddenRef(`${unknown} to determine minimum required permissions and user ${user} ${all}`);
  };
}

interface UnknownParts {
  readonly policyName: string;
  readonly isPolicyFound: boolean;
  readonly paramKind: DeepReadonly<ParamKind> | undefined;
  readonly resource: AskedResource;
}

/** Returns the reason why the resource of the parameters cannot be determined; undefined = it can. */
function unknownResource({ policyName, isPolicyFound, paramKind, resource }: UnknownParts): string | undefined {
  if (!isPolicyFound) return `unable to get policy ${policyName}`;
  return paramKind !== undefined && resource.resource === '*'
    ? `unable to resolve paramKind ${kindText(paramKind)}`
    : undefined;
}

function forbiddenRef(why: string): readonly FieldError[] {
  return [forbiddenField('spec.paramRef', why)];
}

function resourceOf({ apiVersion, kind }: DeepReadonly<ParamKind>, server: BuiltinServer): AskedResource {
  const slash = apiVersion?.indexOf('/') ?? -1;
  const [group, version] =
    slash < 0 ? ['', apiVersion ?? ''] : [apiVersion?.slice(0, slash) ?? '', apiVersion?.slice(slash + 1) ?? ''];
  return { group, version, resource: server.resourceOfKind(apiVersion ?? '', kind ?? '') ?? '*' };
}

async function findPolicy(
  server: BuiltinServer,
  resource: string,
  name: string,
): Promise<DeepReadonly<Policy> | undefined> {
  const store = server.findStore('admissionregistration.k8s.io', 'v1', resource);
  const found = await store?.find?.(reader, name);
  return found?.object as DeepReadonly<Policy> | undefined;
}

const reader: RequestContext = {
  user: { name: 'system:apiserver', groups: [mastersGroup] },
  namespace: '',
  dryRun: false,
  fieldManager: 'kapstan',
  fieldValidation: 'Ignore',
  warn: () => undefined,
};

async function mayRead(
  asked: AskedResource & { readonly verb: string; readonly namespace: string; readonly name: string },
  { context: { user }, server }: { readonly context: RequestContext; readonly server: BuiltinServer },
): Promise<boolean> {
  // The groups of the server itself and of its administrators are exempt from such checks.
  if (server.authorizer === undefined || user.groups.includes(mastersGroup)) return true;
  const { decision } = await server.authorizer.authorize({ type: 'resource', user, subresource: '', ...asked });
  return decision === 'allow';
}

/** Formats the user as Go does with %v. */
function userText({ name, uid = '', groups, extra = {} }: UserInfo): string {
  const pairs = Object.entries(extra)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, values]) => `${key}:[${values.join(' ')}]`);
  return `&{${name} ${uid} [${groups.join(' ')}] map[${pairs.join(' ')}]}`;
}

function kindText({ apiVersion = '', kind = '' }: DeepReadonly<ParamKind>): string {
  return `&{${apiVersion} ${kind}}`;
}
