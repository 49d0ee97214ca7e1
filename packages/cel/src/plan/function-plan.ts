// Plans calls of functions: the implementation, its mode and its cost.
import { runtimeCost } from '../cost/runtime-cost.ts';
import type { Environment } from '../environment/environment.ts';
import { compilePattern, findAllPattern, findPattern, matchesPattern } from '../patterns/pattern.ts';
import type { PatternOperation } from '../patterns/pattern-work.ts';
import { CelProgramError } from '../syntax/issues.ts';
import type { CheckedCall, FunctionDeclaration } from '../types/function-declaration.ts';
import type { AnyList } from '../values/cel-list.ts';
import { CelFailure, isFailure, overloadFailure } from '../values/failure.ts';
import { emit } from './emit.ts';
import { foldedMembership } from './folding.ts';
import { Frame } from './frame.ts';
import type { CallNode, PlanNode } from './plan-node.ts';
import { dispatching, guarded } from './runtime-types.ts';

interface PlannedCall {
  readonly name: string;
  readonly args: readonly PlanNode[];
  readonly overloads: readonly string[];
  /** The reason why the constant second argument is not a pattern, for functions that take one. */
  readonly patternFault: CelFailure | undefined;
}

const conversions = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'dyn',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
]);

export function planFunction(environment: Environment, call: PlannedCall): PlanNode {
  const overload = call.overloads.length === 1 ? (call.overloads[0] as string) : '';
  const [first, second] = call.args as [PlanNode, PlanNode];
  if (overload === 'in_list' && second.kind === 'constant') {
    const folded = foldedMembership(first, second.value as AnyList);
    if (folded !== undefined) return folded;
  }
  const isOptional = overload === '' || overload.startsWith('optional_or');
  if (isOptional && call.args.length === 2 && (call.name === 'or' || call.name === 'orValue')) {
    return { kind: call.name === 'or' ? 'or?' : 'orValue?', args: [first, second] };
  }
  const node = callNode(environment, call, overload);
  if (conversions.has(call.name) && call.args.length === 1 && first.kind === 'constant') return folded(node);
  return withPattern(node, call.patternFault);
}

function callNode(environment: Environment, { name, args }: PlannedCall, overload: string): CallNode {
  const declaration = environment.function(name);
  const cost = runtimeCost(name, overload);
  const binding = (declaration && bindingOf(declaration, overload)) ?? unbound(name);
  const mode = name === '@not_strictly_false' ? 'lenient' : binding.mode;
  return { kind: 'call', name, args, run: binding.run, cost, mode };
}

/** An expression that is not checked may name a function that does not exist. */
function unbound(name: string): Binding {
  return { run: () => new CelFailure(`no such overload: ${name}`), mode: 'each' };
}

interface Binding {
  readonly run: CheckedCall;
  readonly mode: 'each' | 'untilError';
}

function bindingOf(declaration: FunctionDeclaration, id: string): Binding | undefined {
  if (declaration.singleton !== undefined) return { run: declaration.singleton as CheckedCall, mode: 'each' };
  const bound = declaration.overloads.filter(({ run }) => run !== undefined);
  const single = bound.find((overload) => overload.id === id) ?? (bound.length === 1 ? bound[0] : undefined);
  if (single !== undefined) {
    return { run: guarded(declaration, single), mode: isVariadic(single.params.length, id) ? 'untilError' : 'each' };
  }
  return bound.length === 0 ? undefined : { run: dispatching(declaration), mode: 'untilError' };
}

/** Implementations with two arguments that Go binds as variadic ones. */
const variadicPairs = new Set(['string_format']);

function isVariadic(params: number, id: string): boolean {
  return params > 2 || variadicPairs.has(id);
}

/** Returns the constant result of converting a constant. */
function folded(node: CallNode): PlanNode {
  const frame = new Frame({ find: () => undefined }, { budget: Number.POSITIVE_INFINITY });
  const value = emit(node).run(frame);
  if (isFailure(value)) throw new CelProgramError(value.message);
  return { kind: 'constant', value };
}

const patternFunctions: ReadonlyMap<string, PatternOperation> = new Map(
  (['matches', 'find', 'findAll'] as const).map((name) => [name, name]),
);

/** A constant pattern is not compiled here, because that may take seconds: it was checked, and is compiled on first use. */
function withPattern(node: CallNode, fault: CelFailure | undefined): PlanNode {
  const operation = patternFunctions.get(node.name);
  if (operation === undefined) return node;
  const [, pattern] = node.args;
  if (pattern?.kind !== 'constant' || typeof pattern.value !== 'string') return { ...node, pattern: operation };
  if (fault !== undefined) throw new CelProgramError(fault.message);
  return { ...node, run: constantPattern(operation, pattern.value), pattern: operation, mode: 'untilError' };
}

function constantPattern(operation: PatternOperation, text: string): CheckedCall {
  return (searched: unknown, _: unknown, limit: unknown = -1) => {
    if (typeof searched !== 'string') return overloadFailure(searched);
    const pattern = compilePattern(text);
    if (isFailure(pattern)) return pattern;
    if (operation === 'matches') return matchesPattern(pattern, searched);
    if (operation === 'find') return findPattern(pattern, searched);
    return typeof limit === 'number' ? findAllPattern(pattern, searched, limit) : overloadFailure(limit);
  };
}
