// Macros of the language: calls that the parser replaces by comprehensions and presence tests. Their form decides the
// cost, so it is the same as in cel-go. Macros with two variables are in two-variable-macros.ts, macros for optionals
// in optional-macros.ts.
import type { Expr } from './expr.ts';
import type { Fold, MacroBuilder } from './macro-builder.ts';

/** An error in the arguments of a macro. */
export interface MacroError {
  readonly offset: number;
  readonly error: string;
}

export interface MacroCall {
  /** Undefined for global macros. */
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface Macro {
  readonly name: string;
  readonly argCount: number;
  readonly isMember: boolean;
  expand(builder: MacroBuilder, call: MacroCall): Expr | MacroError;
}

/** Expressions cannot contain the names of accumulators. */
const accumulatorName = '@result';
/** A name that older expressions may not use as a variable of a macro. */
const oldAccumulatorName = '__result__';

export function macroKey(name: string, argCount: number, isMember: boolean): string {
  return `${name}:${argCount}:${isMember}`;
}

export function isMacroError(result: Expr | MacroError): result is MacroError {
  return 'error' in result;
}

/** Returns the name of the variable that a macro declares, or the error for another argument. */
export function macroVariable(arg: Expr | undefined, notAName: string): string | MacroError {
  const offset = arg?.offset ?? 0;
  if (arg?.kind !== 'ident') return { offset, error: notAName };
  if (arg.name !== accumulatorName && arg.name !== oldAccumulatorName) return arg.name;
  return { offset, error: 'iteration variable overwrites accumulator variable' };
}

function memberMacro(name: string, argCount: number, expand: Macro['expand']): Macro {
  return { name, argCount, isMember: true, expand };
}

const broken: Expr = { kind: 'broken', offset: 0 };

const has: Macro = {
  name: 'has',
  argCount: 1,
  isMember: false,
  expand(builder, { args: [arg = broken] }) {
    if (arg.kind !== 'select' || arg.isTest) return { offset: arg.offset, error: 'invalid argument to has() macro' };
    return builder.test(arg.operand, arg.field);
  },
};

export function allFold(builder: MacroBuilder, predicate: Expr): Fold {
  return {
    start: builder.literal(true),
    condition: builder.call('@not_strictly_false', [builder.accumulator()]),
    step: builder.call('_&&_', [builder.accumulator(), predicate]),
    result: builder.accumulator(),
  };
}

export function existsFold(builder: MacroBuilder, predicate: Expr): Fold {
  return {
    start: builder.literal(false),
    condition: builder.call('@not_strictly_false', [builder.call('!_', [builder.accumulator()])]),
    step: builder.call('_||_', [builder.accumulator(), predicate]),
    result: builder.accumulator(),
  };
}

export function existsOneFold(builder: MacroBuilder, predicate: Expr): Fold {
  const next = builder.call('_+_', [builder.accumulator(), builder.literal(1)]);
  return {
    start: builder.literal(0),
    condition: builder.literal(true),
    step: builder.call('_?_:_', [predicate, next, builder.accumulator()]),
    result: builder.call('_==_', [builder.accumulator(), builder.literal(1)]),
  };
}

/** Appends to a list, or inserts into a map, for the elements that the filter accepts. */
export function collectFold(builder: MacroBuilder, parts: { start: Expr; step: Expr; filter: Expr | undefined }): Fold {
  const { start, step, filter } = parts;
  return {
    start,
    condition: builder.literal(true),
    step: filter === undefined ? step : builder.call('_?_:_', [filter, step, builder.accumulator()]),
    result: builder.accumulator(),
  };
}

export function appendStep(builder: MacroBuilder, element: Expr): Expr {
  return builder.call('_+_', [builder.accumulator(), builder.list([element])]);
}

function quantifier(name: string, fold: (builder: MacroBuilder, predicate: Expr) => Fold): Macro {
  return memberMacro(name, 2, (builder, { target = broken, args: [variable, predicate = broken] }) => {
    const name = macroVariable(variable, 'argument must be a simple name');
    if (typeof name !== 'string') return name;
    return builder.fold({ range: target, variable: name, variable2: undefined }, fold(builder, predicate));
  });
}

/** Expands `map`; `sortBy` uses it too. */
export function expandMap(builder: MacroBuilder, { target = broken, args }: MacroCall): Expr | MacroError {
  const name = macroVariable(args[0], 'argument is not an identifier');
  if (typeof name !== 'string') return name;
  const [filter, element = broken] = args.length === 3 ? [args[1], args[2]] : [undefined, args[1]];
  const start = builder.list([]);
  const fold = collectFold(builder, { start, step: appendStep(builder, element), filter });
  return builder.fold({ range: target, variable: name, variable2: undefined }, fold);
}

function expandFilter(builder: MacroBuilder, { target = broken, args }: MacroCall): Expr | MacroError {
  const [variable = broken, filter] = args;
  const name = macroVariable(variable, 'argument is not an identifier');
  if (typeof name !== 'string') return name;
  const start = builder.list([]);
  const fold = collectFold(builder, { start, step: appendStep(builder, variable), filter });
  return builder.fold({ range: target, variable: name, variable2: undefined }, fold);
}

/** Macros of every environment. */
export const standardMacros: readonly Macro[] = [
  has,
  quantifier('all', allFold),
  quantifier('exists', existsFold),
  quantifier('exists_one', existsOneFold),
  memberMacro('map', 2, expandMap),
  memberMacro('map', 3, expandMap),
  memberMacro('filter', 2, expandFilter),
];
