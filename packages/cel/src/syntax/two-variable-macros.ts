// Macros with two variables: index and element of a list, key and value of a map.
import type { Expr } from './expr.ts';
import type { Fold, MacroBuilder } from './macro-builder.ts';
import {
  allFold,
  appendStep,
  collectFold,
  existsFold,
  existsOneFold,
  type Macro,
  type MacroCall,
  type MacroError,
  macroVariable,
} from './macros.ts';

const broken: Expr = { kind: 'broken', offset: 0 };
const notAName = 'argument must be a simple name';

interface Variables {
  readonly variable: string;
  readonly variable2: string;
}

function variablesOf({ args: [first, second] }: MacroCall): Variables | MacroError {
  for (const arg of [first, second]) {
    if (arg?.kind !== 'ident') return { offset: arg?.offset ?? 0, error: notAName };
  }
  if (first?.kind === 'ident' && second?.kind === 'ident' && first.name === second.name) {
    return { offset: second.offset, error: `duplicate variable name: ${first.name}` };
  }
  const variable = macroVariable(first, notAName);
  if (typeof variable !== 'string') return variable;
  const variable2 = macroVariable(second, notAName);
  return typeof variable2 === 'string' ? { variable, variable2 } : variable2;
}

function twoVariableMacro(
  name: string,
  argCount: number,
  fold: (builder: MacroBuilder, args: readonly Expr[]) => Fold,
): Macro {
  return {
    name,
    argCount,
    isMember: true,
    expand(builder, call) {
      const variables = variablesOf(call);
      if ('error' in variables) return variables;
      return builder.fold({ range: call.target ?? broken, ...variables }, fold(builder, call.args));
    },
  };
}

/** Returns filter and body of a transformation; the filter is optional. */
function transformation(args: readonly Expr[]): { readonly filter: Expr | undefined; readonly body: Expr } {
  const [third = broken, fourth] = args.slice(2);
  return fourth === undefined ? { filter: undefined, body: third } : { filter: third, body: fourth };
}

function listFold(builder: MacroBuilder, args: readonly Expr[]): Fold {
  const { filter, body } = transformation(args);
  return collectFold(builder, { start: builder.list([]), step: appendStep(builder, body), filter });
}

function mapFold(builder: MacroBuilder, args: readonly Expr[]): Fold {
  const { filter, body } = transformation(args);
  const key = args[0]?.kind === 'ident' ? args[0].name : '';
  const step = builder.call('cel.@mapInsert', [builder.accumulator(), builder.ident(key), body]);
  return collectFold(builder, { start: builder.emptyMap(), step, filter });
}

function mapEntryFold(builder: MacroBuilder, args: readonly Expr[]): Fold {
  const { filter, body } = transformation(args);
  const step = builder.call('cel.@mapInsert', [builder.accumulator(), body]);
  return collectFold(builder, { start: builder.emptyMap(), step, filter });
}

const predicateOf = (args: readonly Expr[]): Expr => args[2] ?? broken;

export const twoVariableMacros: readonly Macro[] = [
  twoVariableMacro('all', 3, (builder, args) => allFold(builder, predicateOf(args))),
  twoVariableMacro('exists', 3, (builder, args) => existsFold(builder, predicateOf(args))),
  twoVariableMacro('existsOne', 3, (builder, args) => existsOneFold(builder, predicateOf(args))),
  twoVariableMacro('exists_one', 3, (builder, args) => existsOneFold(builder, predicateOf(args))),
  twoVariableMacro('transformList', 3, listFold),
  twoVariableMacro('transformList', 4, listFold),
  twoVariableMacro('transformMap', 3, mapFold),
  twoVariableMacro('transformMap', 4, mapFold),
  twoVariableMacro('transformMapEntry', 3, mapEntryFold),
  twoVariableMacro('transformMapEntry', 4, mapEntryFold),
];
