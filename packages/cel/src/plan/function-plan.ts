// Plans calls of functions: the implementation, its mode and its cost. Constant patterns are compiled here.
import { runtimeCost } from '../cost/runtime-cost.ts';
import type { Environment } from '../environment.ts';
import { compilePattern, findAllPattern, findPattern, matchesPattern } from '../libraries/pattern.ts';
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
  return withConstantPattern(node);
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
  const frame = new Frame({ find: () => undefined }, Number.POSITIVE_INFINITY);
  const value = emit(node).run(frame);
  if (isFailure(value)) throw new CelProgramError(value.message);
  return { kind: 'constant', value };
}

type PatternFunction = (pattern: Exclude<ReturnType<typeof compilePattern>, { kind: 'failure' }>) => CheckedCall;

const patternFunctions: ReadonlyMap<string, PatternFunction> = new Map<string, PatternFunction>([
  [
    'matches',
    (pattern) => (text: unknown) => (typeof text === 'string' ? matchesPattern(pattern, text) : overloadFailure(text)),
  ],
  [
    'find',
    (pattern) => (text: unknown) => (typeof text === 'string' ? findPattern(pattern, text) : overloadFailure(text)),
  ],
  [
    'findAll',
    (pattern) =>
      (text: unknown, _: unknown, limit: unknown = -1) => {
        if (typeof text !== 'string') return overloadFailure(text);
        return typeof limit === 'number' ? findAllPattern(pattern, text, limit) : overloadFailure(limit);
      },
  ],
]);

function withConstantPattern(node: CallNode): PlanNode {
  const [, pattern] = node.args;
  const patternFunction = patternFunctions.get(node.name);
  if (patternFunction === undefined || pattern?.kind !== 'constant' || typeof pattern.value !== 'string') return node;
  const compiled = compilePattern(pattern.value);
  if (isFailure(compiled)) throw new CelProgramError(compiled.message);
  return { ...node, run: patternFunction(compiled), mode: 'untilError' };
}
