// PolicyCall holds the state that all evaluations of policies for one request share. PolicyInvocation is one evaluation, of one policy with
// one parameter. Made by validating-policies.ts and mutating-policies.ts.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { CelAuthorizer } from '@kapstan/cel';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import type { EvaluatedVariables } from '../matching/expression-list.ts';
import { ExpressionRun } from '../matching/expression-run.ts';
import type { Invocation } from '../matching/invocation.ts';
import type { RequestMatching } from '../matching/request-matching.ts';
import { RequestVariables, requestAuthorizer } from '../matching/request-variables.ts';
import type { Params } from './policy-params.ts';
import type { PolicyPorts } from './policy-ports.ts';
import { type CompiledVariables, PolicyVariables } from './policy-variables.ts';

/** Says which of the expensive variables an evaluation needs. */
export interface VariableNeeds {
  readonly hasAuthorizer: boolean;
  readonly hasNamespace: boolean;
}

export class PolicyCall {
  readonly attributes: AdmissionAttributes;
  readonly requests: RequestMatching;
  readonly run: ExpressionRun;
  readonly #authorizer: Authorizer;
  #celAuthorizer: CelAuthorizer | undefined;

  constructor(attributes: AdmissionAttributes, { requests, authorizer, clock }: PolicyPorts) {
    this.attributes = attributes;
    this.requests = requests.remembering();
    this.run = new ExpressionRun({ clock, signal: attributes.context.signal });
    this.#authorizer = authorizer;
  }

  /** Decisions are remembered for all policies of the request. */
  authorizerFor(invocation: Invocation): CelAuthorizer {
    this.#celAuthorizer ??= requestAuthorizer(invocation, this.#authorizer);
    return this.#celAuthorizer;
  }

  /**
   * Resolves to the namespace of the request as expressions see it; undefined = it has none, or is about a Namespace
   * itself.
   */
  async namespaceObject(): Promise<unknown> {
    const { namespace } = this.attributes;
    if (!this.requests.isNamespaced(this.attributes)) return undefined;
    const found = await this.requests.namespaces.read(namespace);
    return found && shownNamespace(found);
  }
}

export interface PolicyInvocationParts {
  readonly call: PolicyCall;
  readonly invocation: Invocation;
  readonly params: Params;
  readonly namespaceObject: unknown;
  readonly variables: CompiledVariables;
}

export class PolicyInvocation {
  readonly #parts: PolicyInvocationParts;

  constructor(parts: PolicyInvocationParts) {
    this.#parts = parts;
  }

  get call(): PolicyCall {
    return this.#parts.call;
  }

  /** Returns the variables for one list of expressions. */
  scope({ hasAuthorizer, hasNamespace }: VariableNeeds): EvaluatedVariables {
    const { call, invocation, params, namespaceObject, variables } = this.#parts;
    const request = new RequestVariables({
      invocation,
      authorizer: hasAuthorizer ? call.authorizerFor(invocation) : undefined,
      params,
      namespaceObject: hasNamespace ? namespaceObject : undefined,
    });
    return new PolicyVariables(request, variables, call.run);
  }

  /** Returns the variables for match conditions, which see the resource of the request itself. */
  conditionScope(): EvaluatedVariables {
    const { call, invocation, params, variables } = this.#parts;
    const asSent = { ...invocation, resource: invocation.attributes.resource };
    const request = new RequestVariables({ invocation: asSent, authorizer: call.authorizerFor(invocation), params });
    return new PolicyVariables(request, variables, call.run);
  }
}

const shownMetadata = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'finalizers',
] as const;

/** Source: plugin/cel CreateNamespaceObject. */
function shownNamespace(object: DeepReadonly<KubernetesObject>): unknown {
  const { metadata = {}, spec = {}, status = {} } = object as DeepReadonly<KubernetesObject> & Record<string, object>;
  const shown: Record<string, unknown> = {};
  for (const name of shownMetadata) {
    const value = (metadata as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined) shown[name] = value;
  }
  return { metadata: shown, spec, status };
}
