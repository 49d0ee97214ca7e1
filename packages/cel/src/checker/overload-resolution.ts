// Finds the overloads that a call may mean: those whose parameters accept its arguments. Several match when types are
// unknown.
import { TypeMapping } from '../types/assignability.ts';
import { type CelType, dynType, isDyn, isExactType } from '../types/cel-type.ts';
import type { FunctionDeclaration, Overload } from '../types/function-declaration.ts';
import type { CheckContext } from './check-context.ts';

export interface Resolution {
  readonly type: CelType;
  readonly overloads: readonly string[];
}

interface Candidate {
  readonly declaration: FunctionDeclaration;
  readonly types: readonly CelType[];
  readonly isMember: boolean;
}

/** Returns the overloads that match and the type of their result; undefined when none does. */
export function resolveOverloads(
  checker: CheckContext,
  { declaration, types, isMember }: Candidate,
): Resolution | undefined {
  const overloads: string[] = [];
  let type: CelType | undefined;
  for (const overload of declaration.overloads) {
    if (overload.isMember !== isMember || overload.params.length !== types.length) continue;
    if (!checker.environment.comparesNumbers && isCrossTypeComparison(overload.id)) continue;
    const { params, result } = instantiate(checker, overload);
    if (!checker.mapping.isListAssignable(types, params)) continue;
    overloads.push(overload.id);
    const resultType = checker.mapping.substitute(result);
    if (type === undefined) type = resultType;
    else if (!isDyn(type) && !isExactType(resultType, type)) type = dynType;
  }
  return type === undefined ? undefined : { type, overloads };
}

/** Returns the overload with fresh type variables for its type parameters. */
function instantiate(
  checker: CheckContext,
  { params, result, typeParams }: Overload,
): Pick<Overload, 'params' | 'result'> {
  if (typeParams.length === 0) return { params, result };
  const fresh = new TypeMapping();
  for (const param of typeParams) fresh.add(param, checker.newTypeVariable());
  return { params: params.map((param) => fresh.substitute(param)), result: fresh.substitute(result) };
}

const numberNames = ['int64', 'uint64', 'double'];
const crossTypeComparisons = new Set(
  ['less', 'less_equals', 'greater', 'greater_equals'].flatMap((operator) =>
    numberNames.flatMap((left) =>
      numberNames.filter((right) => right !== left).map((right) => `${operator}_${left}_${right}`),
    ),
  ),
);

function isCrossTypeComparison(id: string): boolean {
  return crossTypeComparisons.has(id);
}
