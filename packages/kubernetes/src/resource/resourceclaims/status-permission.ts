// Rules about who may write which part of a claim's status: the scheduler its allocation, each driver the reports about its own devices. A
// driver that runs on the claim's node needs fewer rights than others. Used by resource-claims.ts. Source: pkg/registry/resource/utils.go
// (AuthorizedForBinding, AuthorizedForDeviceStatus).
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors, type FieldError, forbiddenField } from '@kapstan/api/errors';
import type { AuthorizationAttributes, Authorizer, RequestContext, UserInfo } from '@kapstan/apiserver';
import { forbiddenError, jsonEqual, type PermitWrite, refusalReason } from '@kapstan/apiserver/internal';
import type { AllocatedDeviceStatus, ResourceClaim } from '@kapstan/kinds/resource.k8s.io/v1';

type Status = NonNullable<DeepReadonly<ResourceClaim>['status']>;
type Attributes = AuthorizationAttributes & { readonly type: 'resource' };

const nodeNameKey = 'authentication.kubernetes.io/node-name';

/** Returns the errors of all parts that were changed without permission. Undefined authorizer = everything is allowed. */
export function permitStatus(authorizer: Authorizer | undefined): PermitWrite<ResourceClaim> {
  return async (next, old, context) => {
    if (authorizer === undefined) return [];
    const change = { next: next.status ?? {}, old: old?.status ?? {} };
    const asker = new Asker(authorizer, context);
    return [...(await bindingErrors(change, asker)), ...(await deviceErrors(change, asker))];
  };
}

interface Change {
  readonly next: Status;
  readonly old: Status;
}

/** Checks permissions for parts of the status as if they were subresources. */
class Asker {
  readonly verb: string;
  readonly user: UserInfo;
  readonly #authorizer: Authorizer;
  readonly #namespace: string;

  constructor(authorizer: Authorizer, { user, namespace, verb = 'update' }: RequestContext) {
    this.#authorizer = authorizer;
    this.#namespace = namespace;
    this.user = user;
    this.verb = verb;
  }

  /** Checks the permission for all claims of the cluster. Returns the text of the refusal; undefined = allowed. */
  mayBind(): Promise<string | undefined> {
    return this.#ask({ verb: this.verb, subresource: 'binding', namespace: '', name: '' });
  }

  mayReport(verb: string, driver: string): Promise<string | undefined> {
    return this.#ask({ verb, subresource: 'driver', namespace: this.#namespace, name: driver });
  }

  async #ask(asked: Pick<Attributes, 'verb' | 'subresource' | 'namespace' | 'name'>): Promise<string | undefined> {
    const what = { group: 'resource.k8s.io', version: 'v1', resource: 'resourceclaims' };
    const attributes: Attributes = { type: 'resource', user: this.user, ...what, ...asked };
    const answer = await this.#authorizer.authorize(attributes);
    return answer.decision === 'allow' ? undefined : forbiddenError(attributes, refusalReason(answer)).message;
  }
}

async function bindingErrors({ next, old }: Change, asker: Asker): Promise<readonly FieldError[]> {
  const isKept = jsonEqual(next.allocation, old.allocation) && jsonEqual(next.reservedFor ?? [], old.reservedFor ?? []);
  const why = isKept ? undefined : await asker.mayBind();
  if (why === undefined) return [];
  const needed = `resource="resourceclaims/binding", verb="${asker.verb}" permission`;
  const text = `changing status.allocation or status.reservedFor requires ${needed}: ${why}`;
  return [forbiddenField('status.allocation', text)];
}

/** Reports of a claim that is no longer allocated are dropped, so no permission is needed for them. */
async function deviceErrors({ next, old }: Change, asker: Asker): Promise<readonly FieldError[]> {
  if (next.allocation === undefined) return [];
  const drivers = changedDrivers(next.devices ?? [], old.devices ?? []);
  const isOnNode = runsOn(asker.user, nodeOf(next.allocation));
  const prefixes = isOnNode ? ['associated-node', 'arbitrary-node'] : ['arbitrary-node'];
  const verbs = prefixes.map((prefix) => `${prefix}:${asker.verb}`);
  const errors: FieldError[] = [];
  for (const driver of drivers) {
    const why = await firstRefusal(verbs, (verb) => asker.mayReport(verb, driver));
    if (why === undefined) continue;
    const needed = `resource="resourceclaims/driver", verb="[${verbs.join(' ')}]" permission`;
    errors.push(forbiddenField('status.devices', `changing status.devices requires ${needed}: ${why}`));
  }
  return errors;
}

/** One permission is enough. */
async function firstRefusal(
  verbs: readonly string[],
  ask: (verb: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  let first: string | undefined;
  for (const verb of verbs) {
    const why = await ask(verb);
    if (why === undefined) return undefined;
    first ??= why;
  }
  return first;
}

type Device = DeepReadonly<AllocatedDeviceStatus>;

/** Returns the drivers of devices that were added, changed or removed, in the order of their names. */
function changedDrivers(next: readonly Device[], old: readonly Device[]): readonly string[] {
  const left = new Map(old.map((device) => [deviceKey(device), device]));
  const drivers = new Set<string>();
  for (const device of next) {
    const key = deviceKey(device);
    const before = left.get(key);
    left.delete(key);
    if (before === undefined || !jsonEqual(before, device)) drivers.add(device.driver);
  }
  for (const device of left.values()) drivers.add(device.driver);
  return [...drivers].sort();
}

function deviceKey({ driver, pool, device, shareID = '' }: Device): string {
  return JSON.stringify([driver, pool, device, shareID]);
}

/** Returns "" for an allocation that is not for exactly one node. */
function nodeOf({ nodeSelector }: NonNullable<Status['allocation']>): string {
  const [term, ...others] = nodeSelector?.nodeSelectorTerms ?? [];
  const [field, ...otherFields] = term?.matchFields ?? [];
  if (others.length > 0 || otherFields.length > 0 || (term?.matchExpressions ?? []).length > 0) return '';
  const { key, operator, values = [] } = field ?? {};
  return key === 'metadata.name' && operator === 'In' && values.length === 1 ? (values[0] ?? '') : '';
}

/** True for a service account whose token was issued for a pod of the node. */
function runsOn({ name, extra = {} }: UserInfo, node: string): boolean {
  const [system, kind, namespace = '', account = '', ...rest] = name.split(':');
  const isAccount = system === 'system' && kind === 'serviceaccount' && rest.length === 0;
  if (node === '' || !isAccount) return false;
  if (dnsLabelErrors(namespace).length > 0 || dnsSubdomainErrors(account).length > 0) return false;
  const nodes = extra[nodeNameKey] ?? [];
  return nodes.length === 1 && nodes[0] === node && dnsSubdomainErrors(node).length === 0;
}
