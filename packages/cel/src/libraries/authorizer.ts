// The library of authorization checks: `authorizer.group('apps').resource('deployments').check('create').allowed()`.
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Library } from '../environment/library.ts';
import { type CelType, structType } from '../types/cel-type.ts';
import { type FunctionDeclaration, memberOverload, oneOverload } from '../types/function-declaration.ts';
import { CelObject } from '../values/cel-object.ts';
import { CelFailure, overloadFailure } from '../values/failure.ts';
import { ValuePending } from '../values/value-pending.ts';

/** The question: a path, or a resource. */
export interface AuthorizationRequest {
  readonly verb: string;
  /** Path of a request outside the resources. */
  readonly path?: string;
  readonly apiGroup?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** The selector as written in the expression; empty for none. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** The service account to ask about instead of the user. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}

/** The decision of an authorizer. */
export interface AuthorizationDecision {
  readonly isAllowed: boolean;
  readonly reason: string;
  /** The reason why there is no decision. */
  readonly error?: string;
}

/**
 * The port to the server's authorizer for one user. It may return a promise, for which asynchronous evaluations wait.
 */
export interface Authorizer {
  authorize(request: AuthorizationRequest): AuthorizationDecision | Promise<AuthorizationDecision>;
}

const authorizerName = 'kubernetes.authorization.Authorizer';
const pathName = 'kubernetes.authorization.PathCheck';
const groupName = 'kubernetes.authorization.GroupCheck';
const resourceName = 'kubernetes.authorization.ResourceCheck';
const decisionName = 'kubernetes.authorization.Decision';

abstract class AuthorizerObject extends CelObject {
  abstract override readonly type: CelType;

  /** These values cannot be compared, not even with themselves. */
  override equals(other: unknown): CelFailure {
    return overloadFailure(other);
  }
}

type Asked = Omit<AuthorizationRequest, 'verb'>;

/** The variable `authorizer`. Each decision is requested once, however often an expression uses it. */
export class CelAuthorizer extends AuthorizerObject {
  readonly type: CelType = structType(authorizerName);
  readonly #port: Authorizer;
  readonly #asked: Asked;
  readonly #decisions: Map<string, AuthorizationDecision | Promise<unknown>>;

  constructor(
    port: Authorizer,
    asked: Asked = {},
    decisions: Map<string, AuthorizationDecision | Promise<unknown>> = new Map(),
  ) {
    super();
    this.#port = port;
    this.#asked = asked;
    this.#decisions = decisions;
  }

  for(serviceAccount: { readonly namespace: string; readonly name: string }): CelAuthorizer {
    return new CelAuthorizer(this.#port, { ...this.#asked, serviceAccount }, this.#decisions);
  }

  decide(request: AuthorizationRequest): CelDecision {
    const whole = { ...this.#asked, ...request };
    const key = JSON.stringify(whole);
    const known = this.#decisions.get(key) ?? this.#ask(key, whole);
    if (known instanceof Promise) throw new ValuePending(known);
    return new CelDecision(known);
  }

  #ask(key: string, request: AuthorizationRequest): AuthorizationDecision | Promise<unknown> {
    const answer = this.#port.authorize(request);
    const kept = answer instanceof Promise ? this.#awaited(key, answer) : answer;
    this.#decisions.set(key, kept);
    return kept;
  }

  async #awaited(key: string, answer: Promise<AuthorizationDecision>): Promise<unknown> {
    try {
      this.#decisions.set(key, await answer);
    } catch (error) {
      this.#decisions.set(key, { isAllowed: false, reason: '', error: (error as Error).message });
    }
    return undefined;
  }
}

class CelPathCheck extends AuthorizerObject {
  readonly type: CelType = structType(pathName);
  readonly authorizer: CelAuthorizer;
  readonly path: string;

  constructor(authorizer: CelAuthorizer, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class CelGroupCheck extends AuthorizerObject {
  readonly type: CelType = structType(groupName);
  readonly authorizer: CelAuthorizer;
  readonly group: string;

  constructor(authorizer: CelAuthorizer, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

/** A resource to ask about, also the variable `authorizer.requestResource`. */
export class CelResourceCheck extends AuthorizerObject {
  readonly type: CelType = structType(resourceName);
  readonly authorizer: CelAuthorizer;
  readonly asked: Asked;

  constructor(authorizer: CelAuthorizer, asked: Asked) {
    super();
    this.authorizer = authorizer;
    this.asked = asked;
  }

  with(more: Asked): CelResourceCheck {
    return new CelResourceCheck(this.authorizer, { ...this.asked, ...more });
  }
}

class CelDecision extends AuthorizerObject {
  readonly type: CelType = structType(decisionName);
  readonly decision: AuthorizationDecision;

  constructor(decision: AuthorizationDecision) {
    super();
    this.decision = decision;
  }
}

function path(authorizer: CelAuthorizer, text: string): unknown {
  return text.trim() === '' ? new CelFailure('path must not be empty') : new CelPathCheck(authorizer, text);
}

function serviceAccount(authorizer: CelAuthorizer, namespace: string, name: string): unknown {
  if (dnsSubdomainErrors(name).length > 0) return new CelFailure('Invalid service account name');
  if (dnsLabelErrors(namespace).length > 0) return new CelFailure('Invalid service account namespace');
  return authorizer.for({ namespace, name });
}

function resource({ authorizer, group }: CelGroupCheck, text: string): unknown {
  if (text.trim() === '') return new CelFailure('resource must not be empty');
  return new CelResourceCheck(authorizer, { apiGroup: group, resource: text });
}

function checkPath({ authorizer, path }: CelPathCheck, verb: string): unknown {
  return authorizer.decide({ path, verb });
}

function checkResource({ authorizer, asked }: CelResourceCheck, verb: string): unknown {
  return authorizer.decide({ ...asked, verb });
}

function narrowing(name: 'subresource' | 'namespace' | 'name'): FunctionDeclaration {
  const run = (check: CelResourceCheck, text: string): unknown => check.with({ [name]: text });
  return oneOverload(name, memberOverload(`resourcecheck_${name}`, `${resourceName}, string -> ${resourceName}`, run));
}

function selecting(name: 'fieldSelector' | 'labelSelector'): FunctionDeclaration {
  const run = (check: CelResourceCheck, text: string): unknown => check.with({ [name]: text });
  const id = `authorizer_${name.toLowerCase()}`;
  return oneOverload(name, memberOverload(id, `${resourceName}, string -> ${resourceName}`, run));
}

function answer(name: string, type: string, read: (decision: AuthorizationDecision) => unknown): FunctionDeclaration {
  const run = ({ decision }: CelDecision): unknown => read(decision);
  return oneOverload(name, memberOverload(`decision_${name}`, `${decisionName} -> ${type}`, run));
}

export const authorizerLibrary: Library = {
  name: 'kubernetes.authz',
  functions: [
    oneOverload('path', memberOverload('authorizer_path', `${authorizerName}, string -> ${pathName}`, path)),
    oneOverload(
      'group',
      memberOverload(
        'authorizer_group',
        `${authorizerName}, string -> ${groupName}`,
        (authorizer: CelAuthorizer, group: string) => new CelGroupCheck(authorizer, group),
      ),
    ),
    oneOverload(
      'serviceAccount',
      memberOverload(
        'authorizer_serviceaccount',
        `${authorizerName}, string, string -> ${authorizerName}`,
        serviceAccount,
      ),
    ),
    oneOverload('resource', memberOverload('groupcheck_resource', `${groupName}, string -> ${resourceName}`, resource)),
    narrowing('subresource'),
    narrowing('namespace'),
    narrowing('name'),
    {
      name: 'check',
      overloads: [
        memberOverload('pathcheck_check', `${pathName}, string -> ${decisionName}`, checkPath),
        memberOverload('resourcecheck_check', `${resourceName}, string -> ${decisionName}`, checkResource),
      ],
    },
    answer('errored', 'bool', ({ error }) => error !== undefined),
    answer('error', 'string', ({ error }) => error ?? ''),
    answer('allowed', 'bool', ({ isAllowed }) => isAllowed),
    answer('reason', 'string', ({ reason }) => reason),
  ],
};

/** Selectors were added later than the other functions. */
export const authorizerSelectorsLibrary: Library = {
  name: 'kubernetes.authzSelectors',
  functions: [selecting('fieldSelector'), selecting('labelSelector')],
};
