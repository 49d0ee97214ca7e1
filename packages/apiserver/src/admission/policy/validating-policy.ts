// ValidatingPolicy: a policy as requests need it, with its expressions compiled. Evaluated by policy-evaluation.ts. Source:
// plugin/policy/validating/plugin.go compilePolicy.
import type { DeepReadonly } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import type { Compiled, RequestExpressions } from '../matching/request-expressions.ts';
import { type CompiledPolicyParts, PolicyCompiler, type PolicySpec } from './policy-parts.ts';

interface ValidationSpec {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
}

interface AnnotationSpec {
  readonly key: string;
  readonly valueExpression: string;
}

export interface ValidatingPolicySpec extends PolicySpec {
  readonly validations?: readonly ValidationSpec[];
  readonly auditAnnotations?: readonly AnnotationSpec[];
}

export interface ValidatingPolicy extends CompiledPolicyParts {
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly CompiledAnnotation[];
  /** True = an expression names the variable `namespaceObject`. */
  readonly namesNamespace: boolean;
}

export interface CompiledValidation {
  readonly spec: ValidationSpec;
  readonly check: Compiled | undefined;
  readonly message: Compiled | undefined;
}

export interface CompiledAnnotation {
  readonly spec: AnnotationSpec;
  readonly compiled: Compiled | undefined;
}

export function* compileValidatingPolicy(
  name: string,
  spec: DeepReadonly<ValidatingPolicySpec>,
  requests: RequestExpressions,
): SlicedWork<ValidatingPolicy> {
  const compiler = new PolicyCompiler(requests, spec);
  const parts = yield* compiler.parts(name, spec);
  const validations: CompiledValidation[] = [];
  for (const each of spec.validations ?? []) {
    const check = yield* compiler.compile('validation', each.expression);
    const message = yield* compiler.compile('message', each.messageExpression);
    validations.push({ spec: each, check, message });
  }
  const annotations: CompiledAnnotation[] = [];
  for (const each of spec.auditAnnotations ?? []) {
    annotations.push({ spec: each, compiled: yield* compiler.compile('annotation', each.valueExpression) });
  }
  return { ...parts, validations, annotations, namesNamespace: compiler.namesNamespace };
}
