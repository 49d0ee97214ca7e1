// Compiles the expressions of an AuthenticationConfiguration: about the claims of a token, or about the user that was made
// of them. Used by configuration-rules.ts. Source: apiserver pkg/authentication/cel.
import type { SlicedWork } from '@kapstan/api/internal';
import {
  CelCompileError,
  CelProgramError,
  type CelType,
  type CompiledExpression,
  compileInSlices,
  type Environment,
  isExactType,
  listType,
  mapType,
  storedExpressions,
  structType,
  type TypeProvider,
  typeOf,
} from '@kapstan/cel';

/** The value that an expression sees: the variable "claims" or the variable "user". */
export type ExpressionSubject = 'claims' | 'user';

/** The reason why a text is not a valid expression at its place, in kube-apiserver's words. */
export interface ExpressionFault {
  readonly fault: string;
  /** True = the text is a valid expression, but no program can be made of it. */
  readonly isInternal: boolean;
}

const text = typeOf('string');
const userType = 'kubernetes.UserInfo';
const userFields: ReadonlyMap<string, CelType> = new Map([
  ['username', text],
  ['uid', text],
  ['groups', listType(text)],
  ['extra', mapType(text, listType(text))],
]);

const types: TypeProvider = {
  hasStruct: (name) => name === userType,
  fieldType: (name, field) => (name === userType ? userFields.get(field) : undefined),
};

const environments = new Map<ExpressionSubject, Environment>();

function environmentOf(subject: ExpressionSubject): Environment {
  const known = environments.get(subject);
  if (known !== undefined) return known;
  const type = subject === 'claims' ? mapType(text, typeOf('any')) : structType(userType);
  const environment = storedExpressions().extend({ variables: new Map([[subject, type]]), provider: types });
  environments.set(subject, environment);
  return environment;
}

/** Compiles an expression, its program included. `isCondition`: it must be a bool; others may be of any type. */
export function* compileExpression(
  expression: string,
  { subject, isCondition }: { readonly subject: ExpressionSubject; readonly isCondition: boolean },
): SlicedWork<CompiledExpression | ExpressionFault> {
  try {
    const compiled = yield* compileInSlices(expression, { environment: environmentOf(subject) });
    if (isCondition && !(isExactType(typeOf('bool'), compiled.type) && !compiled.type.isNullable)) {
      return { fault: 'must evaluate to bool', isInternal: false };
    }
    yield;
    // Constants without a value are found when the program is made.
    void compiled.program;
    return compiled;
  } catch (error) {
    if (error instanceof CelCompileError) return { fault: `compilation failed: ${error.message}`, isInternal: false };
    if (error instanceof CelProgramError) {
      return { fault: `program instantiation failed: ${error.message}`, isInternal: true };
    }
    throw error;
  }
}
