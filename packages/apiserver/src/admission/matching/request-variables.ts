// RequestVariables: the values of the variables that expressions about a request may name. Made once for a request and a
// webhook, or a policy with one parameter. Source: plugin/cel/activation.go.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { CelAuthorizer, CelResourceCheck, type VariableSource } from '@kapstan/cel';
import type { Authorizer } from '../../authz/authorizer.ts';
import { celAuthorizerOf } from './cel-authorizer.ts';
import { describeRequest, type Invocation } from './invocation.ts';

export interface RequestVariablesParts {
  readonly invocation: Invocation;
  /** Absent = the variables `authorizer` and `authorizer.requestResource` have no value. */
  readonly authorizer?: CelAuthorizer | undefined;
  readonly params?: DeepReadonly<KubernetesObject> | undefined;
  readonly namespaceObject?: unknown;
}

/** Returns the variable `authorizer` for the user of the request. It may be shared, since it remembers decisions. */
export function requestAuthorizer({ attributes }: Invocation, authorizer: Authorizer): CelAuthorizer {
  return new CelAuthorizer(celAuthorizerOf(authorizer, attributes.context.user));
}

export class RequestVariables implements VariableSource {
  readonly #parts: RequestVariablesParts;
  #request: unknown;

  constructor(parts: RequestVariablesParts) {
    this.#parts = parts;
  }

  /**
   * Match conditions see no namespace, and they see the resource of the original request even if the object is
   * converted. Source: matchconditions.matcher.Match.
   */
  static ofConditions(invocation: Invocation, authorizer: Authorizer): RequestVariables {
    const asSent = { ...invocation, resource: invocation.attributes.resource };
    return new RequestVariables({ invocation: asSent, authorizer: requestAuthorizer(invocation, authorizer) });
  }

  find(name: string): unknown {
    const { invocation, authorizer, params, namespaceObject } = this.#parts;
    switch (name) {
      case 'object':
        return invocation.object ?? null;
      case 'oldObject':
        return invocation.oldObject ?? null;
      case 'params':
        return params ?? null;
      case 'namespaceObject':
        return namespaceObject ?? null;
      case 'request':
        this.#request ??= describeRequest(invocation);
        return this.#request;
      case 'authorizer':
        return authorizer;
      case 'authorizer.requestResource':
        return authorizer && requestResource(authorizer, invocation);
      default:
        return undefined;
    }
  }
}

function requestResource(authorizer: CelAuthorizer, { attributes }: Invocation): CelResourceCheck {
  const { resource, subresource, namespace, name } = attributes;
  return new CelResourceCheck(authorizer, {
    apiGroup: resource.group,
    resource: resource.resource,
    subresource,
    namespace,
    name,
  });
}
