// MutatingPolicy: a policy that changes objects, as requests need it, with its expressions compiled. Evaluated by
// mutating-policies.ts. Source: plugin/policy/mutating/compilation.go.
import type { DeepReadonly } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import type { Compiled, RequestExpressions } from '../matching/request-expressions.ts';
import { type CompiledPolicyParts, PolicyCompiler, type PolicySpec } from './policy-parts.ts';

interface MutationSpec {
  readonly patchType: string;
  readonly applyConfiguration?: { readonly expression?: string };
  readonly jsonPatch?: { readonly expression?: string };
}

export interface MutatingPolicySpec extends PolicySpec {
  readonly mutations?: readonly MutationSpec[];
  readonly reinvocationPolicy?: string;
}

export interface Mutation {
  readonly type: 'applyConfiguration' | 'jsonPatch';
  readonly compiled: Compiled;
}

export interface MutatingPolicy extends CompiledPolicyParts {
  readonly mutations: readonly Mutation[];
  /** True = it is evaluated again if the object is changed after it. */
  readonly isReinvoked: boolean;
  /** True = an expression names the variable `namespaceObject`. */
  readonly namesNamespace: boolean;
}

export function* compileMutatingPolicy(
  name: string,
  spec: DeepReadonly<MutatingPolicySpec>,
  requests: RequestExpressions,
): SlicedWork<MutatingPolicy> {
  const compiler = new PolicyCompiler(requests, spec);
  const parts = yield* compiler.parts(name, spec);
  const mutations: Mutation[] = [];
  for (const { patchType, applyConfiguration, jsonPatch } of spec.mutations ?? []) {
    const type = patchType === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration';
    const text = type === 'jsonPatch' ? jsonPatch?.expression : applyConfiguration?.expression;
    const compiled = yield* compiler.compile(type, text);
    if (compiled !== undefined) mutations.push({ type, compiled });
  }
  const isReinvoked = spec.reinvocationPolicy === 'IfNeeded';
  return { ...parts, mutations, isReinvoked, namesNamespace: compiler.namesNamespace };
}
