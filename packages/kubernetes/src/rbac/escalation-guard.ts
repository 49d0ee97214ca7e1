// Guards the stores of roles and bindings against escalation: users can grant only permissions that they have, unless
// they may "escalate" roles or "bind" that one. Wraps the generic stores. Source: pkg/registry/rbac/*/policybased,
// pkg/registry/rbac/escalation_check.go, validation.ConfirmNoEscalation.

import { type DeepReadonly, isNotFound, StatusError, type UnstructuredObject } from '@kapstan/api';
import { badRequest, forbidden, notFound } from '@kapstan/api/errors';
import { goQuote } from '@kapstan/api/internal';
import type { Authorizer, RequestContext, ResourceStore, ServedResource } from '@kapstan/apiserver';
import { mastersGroup } from '@kapstan/apiserver';
import type {
  DeleteAnswer,
  DeleteRequest,
  Rule,
  SelectRequest,
  SentPart,
  UpdateAnswer,
  UpdateRequest,
  WatchRequest,
} from '@kapstan/apiserver/internal';
import { joinErrors, jsonEqual, requireKeyName, rulesOf } from '@kapstan/apiserver/internal';
import type { ClusterRole, RoleRef } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { StorageWatch, StorageWatchSink, Stored, StoredList } from '@kapstan/storage';
import type { Binding } from './binding-index.ts';
import { type RbacKind, RbacPolicy } from './rbac-policy.ts';
import { describeRules, quotedList, uncoveredRules } from './rule-coverage.ts';

const group = 'rbac.authorization.k8s.io';

const kinds: ReadonlyMap<string, RbacKind> = new Map([
  ['roles', 'Role'],
  ['clusterroles', 'ClusterRole'],
  ['rolebindings', 'RoleBinding'],
  ['clusterrolebindings', 'ClusterRoleBinding'],
]);

/** `findStore` returns the unguarded stores of the group by resource. */
export interface EscalationGuardOptions {
  readonly authorizer: Authorizer;
  findStore(resource: string): ResourceStore | undefined;
}

/** Returns the resource with a guarded store; resources outside RBAC as they are. */
export function guardEscalation(served: ServedResource, options: EscalationGuardOptions): ServedResource {
  const { definition, store } = served;
  const kind = definition.group === group ? kinds.get(definition.resource) : undefined;
  return kind === undefined ? served : { definition, store: new GuardedStore(store, { kind, ...options }) };
}

/** A write under way. `requestName` is the name in the request's path, "" in a POST. */
interface Attempt {
  readonly next: DeepReadonly<UnstructuredObject>;
  readonly old: DeepReadonly<UnstructuredObject> | undefined;
  readonly requestName: string;
}

/** Implements the optional members too: callers take a missing member for one that the store lacks. */
class GuardedStore implements Required<Omit<ResourceStore, 'createPrepared'>> {
  /** Not guarded, because the objects are the server's own. */
  createPrepared?: (prepared: DeepReadonly<UnstructuredObject>) => Promise<Stored<UnstructuredObject>>;
  readonly #store: ResourceStore;
  readonly #options: EscalationGuardOptions & { readonly kind: RbacKind };
  readonly #resource: string;

  constructor(store: ResourceStore, options: EscalationGuardOptions & { readonly kind: RbacKind }) {
    this.#store = store;
    this.#options = options;
    if (store.createPrepared !== undefined) this.createPrepared = store.createPrepared.bind(store);
    this.#resource = `${options.kind.toLowerCase()}s`;
  }

  create(context: RequestContext, object: UnstructuredObject): Promise<Stored<UnstructuredObject>> {
    return this.#store.create(this.#guarded(context, ''), object);
  }

  update(
    context: RequestContext,
    request: UpdateRequest<UnstructuredObject>,
  ): Promise<UpdateAnswer<UnstructuredObject>> {
    return this.#store.update(this.#guarded(context, request.name), request);
  }

  /** Checks the result of mutating admission, because a webhook may add rules too. */
  #guarded(context: RequestContext, requestName: string): RequestContext {
    if (isMaster(context)) return context;
    return { ...context, whenAdmitted: (next, old) => this.#check(context, { next, old, requestName }) };
  }

  get(
    context: RequestContext,
    name: string,
    options?: { readonly resourceVersion?: string | undefined },
  ): Promise<Stored<UnstructuredObject>> {
    return this.#store.get(context, name, options);
  }

  async find(
    context: RequestContext,
    name: string,
    options?: { readonly resourceVersion?: string | undefined },
  ): Promise<Stored<UnstructuredObject> | undefined> {
    if (this.#store.find !== undefined) return this.#store.find(context, name, options);
    return this.#store.get(context, name, options).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }

  async admitPart(context: RequestContext, part: SentPart): Promise<void> {
    await this.#store.admitPart?.(context, part);
  }

  list(context: RequestContext, request: SelectRequest): Promise<StoredList<UnstructuredObject>> {
    return this.#store.list(context, request);
  }

  watch(context: RequestContext, request: WatchRequest, sink: StorageWatchSink<UnstructuredObject>): StorageWatch {
    return this.#store.watch(context, request, sink);
  }

  delete(context: RequestContext, name: string, request: DeleteRequest): Promise<DeleteAnswer<UnstructuredObject>> {
    return this.#store.delete(context, name, request);
  }

  deleteCollection(
    context: RequestContext,
    request: DeleteRequest,
    select: SelectRequest,
  ): Promise<StoredList<UnstructuredObject>> {
    return this.#store.deleteCollection(context, request, select);
  }

  async #check(context: RequestContext, attempt: Attempt): Promise<void> {
    const { kind } = this.#options;
    if (kind === 'Role' || kind === 'ClusterRole') await this.#checkRole(context, attempt);
    else await this.#checkBinding(context, attempt);
  }

  async #checkRole(context: RequestContext, { next, old, requestName }: Attempt): Promise<void> {
    if (await this.#isAllowed(context, { verb: 'escalate', resource: this.#resource, name: requestName })) return;
    if (changesGarbageCollectionAlone(next, old)) return;
    const policy = await this.#livePolicy(context.namespace);
    const role = next as unknown as DeepReadonly<ClusterRole>;
    const refusal = refusalOf(policy, context, role.rules ?? []);
    if (refusal !== undefined) throw this.#forbidden(next, refusal);
    if (!isAggregated(next) && !isAggregated(old)) return;
    // An aggregated role may gather any permission and keep others from removing it.
    if (refusalOf(policy, context, everything) !== undefined) {
      throw this.#forbidden(next, 'must have cluster-admin privileges to use the aggregationRule');
    }
  }

  async #checkBinding(context: RequestContext, { next, old }: Attempt): Promise<void> {
    if (changesGarbageCollectionAlone(next, old)) return;
    const { roleRef } = next as unknown as Binding;
    if (await this.#mayBind(context, roleRef)) return;
    this.#requireRoleKind(roleRef, context.namespace);
    const policy = await this.#livePolicy(context.namespace);
    const rules = policy.roleRules(roleRef, context.namespace);
    // Kubernetes' store names the written resource in this error, because it looks up the role during that write.
    if (rules === undefined) requireKeyName(roleRef.name ?? '');
    if (rules === undefined) throw notFound({ group, resource: this.#resource }, roleRef.name);
    const refusal = refusalOf(policy, context, rules);
    if (refusal !== undefined) throw this.#forbidden(next, refusal);
  }

  /** Validation would refuse this too, but later than this check. */
  #requireRoleKind({ kind }: DeepReadonly<RoleRef>, namespace: string): void {
    if (kind !== 'Role' && kind !== 'ClusterRole') {
      throw new StatusError({
        code: 500,
        reason: '',
        message: `unsupported role reference kind: ${goQuote(kind)}`,
      });
    }
    if (kind === 'Role' && namespace === '') throw badRequest('Namespace parameter required.');
  }

  #mayBind(context: RequestContext, { kind, name }: DeepReadonly<RoleRef>): Promise<boolean> {
    if (kind !== 'Role' && kind !== 'ClusterRole') return Promise.resolve(false);
    return this.#isAllowed(context, { verb: 'bind', resource: `${kind.toLowerCase()}s`, name });
  }

  async #isAllowed(
    { user, namespace }: RequestContext,
    asked: { readonly verb: string; readonly resource: string; readonly name: string },
  ): Promise<boolean> {
    const attributes = { type: 'resource', user, group, version: '*', namespace, subresource: '', ...asked } as const;
    return (await this.#options.authorizer.authorize(attributes)).decision === 'allow';
  }

  /** Reads live state: a permission that the user has just gained may be granted to others, one just lost may not. */
  async #livePolicy(namespace: string): Promise<RbacPolicy> {
    const describeMissing = (_kind: string, name: string): string =>
      `${this.#resource}.${group} ${goQuote(name)} not found`;
    const policy = new RbacPolicy({ describeMissing });
    const wanted = [...kinds].filter(([, kind]) => namespace !== '' || kind.startsWith('Cluster'));
    await Promise.all(
      wanted.map(async ([resource, kind]) => {
        const list = await this.#options.findStore(resource)?.list(readerIn(kind, namespace), {});
        for (const { object } of list?.items ?? []) policy.set(kind, object);
      }),
    );
    return policy;
  }

  #forbidden(object: DeepReadonly<UnstructuredObject>, why: string): Error {
    return forbidden({ group, resource: this.#resource }, object.metadata?.name ?? '', why);
  }
}

function isMaster({ user }: RequestContext): boolean {
  return user.groups.includes(mastersGroup);
}

const everything: readonly Rule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Returns the reason why the user may not grant the rules; undefined = allowed. */
function refusalOf(
  policy: RbacPolicy,
  { user, namespace }: RequestContext,
  rules: readonly Rule[],
): string | undefined {
  const owned = rulesOf(policy, user, namespace);
  const missing = uncoveredRules(owned.rules, rules);
  if (missing.length === 0) return undefined;
  const who = `user ${goQuote(user.name)} (groups=${quotedList(user.groups)})`;
  const lines = describeRules(missing).join('\n');
  const errors = owned.errors.length === 0 ? '' : `; resolution errors: [${joinErrors(owned.errors)}]`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines}${errors}`;
}

function isAggregated(object: DeepReadonly<UnstructuredObject> | undefined): boolean {
  const role = object as DeepReadonly<ClusterRole> | undefined;
  return (role?.aggregationRule?.clusterRoleSelectors?.length ?? 0) > 0;
}

/**
 * True when only owners and finalizers change: the garbage collector writes them without having the permissions.
 * Source: IsOnlyMutatingGCFields.
 */
function changesGarbageCollectionAlone(
  next: DeepReadonly<UnstructuredObject>,
  old: DeepReadonly<UnstructuredObject> | undefined,
): boolean {
  return old !== undefined && jsonEqual(withoutGarbageCollection(next), withoutGarbageCollection(old));
}

function withoutGarbageCollection(object: DeepReadonly<UnstructuredObject>): object {
  const {
    ownerReferences: _owners,
    finalizers: _finalizers,
    managedFields: _fields,
    ...metadata
  } = object.metadata ?? {};
  return { ...object, metadata };
}

function readerIn(kind: RbacKind, namespace: string): RequestContext {
  return {
    user: { name: 'system:apiserver', groups: [mastersGroup] },
    namespace: kind.startsWith('Cluster') ? '' : namespace,
    dryRun: false,
    fieldManager: 'kapstan',
    fieldValidation: 'Ignore',
    warn: () => undefined,
  };
}
