// Macros of optionals (`optMap`, `optFlatMap`) and of lists (`sortBy`), each of which binds a name to a value.
import type { Expr } from './expr.ts';
import type { MacroBuilder } from './macro-builder.ts';
import { expandMap, isMacroError, type Macro } from './macros.ts';

const broken: Expr = { kind: 'broken', offset: 0 };

function optionalMacro(name: string, wrap: (builder: MacroBuilder, bound: Expr) => Expr): Macro {
  return {
    name,
    argCount: 2,
    isMember: true,
    expand(builder, { target = broken, args: [variable = broken, body = broken] }) {
      if (variable.kind !== 'ident') {
        return { offset: variable.offset, error: `${name}() variable name must be a simple identifier` };
      }
      const hasValue = builder.memberCall('hasValue', target, []);
      const value = builder.memberCall('value', builder.copy(target), []);
      const bound = builder.bind(variable.name, value, body);
      return builder.call('_?_:_', [hasValue, wrap(builder, bound), builder.call('optional.none', [])]);
    },
  };
}

export const optionalMacros: readonly Macro[] = [
  optionalMacro('optMap', (builder, bound) => builder.call('optional.of', [bound])),
  optionalMacro('optFlatMap', (_, bound) => bound),
];

const sortInput = '@__sortBy_input__';

export const sortByMacro: Macro = {
  name: 'sortBy',
  argCount: 2,
  isMember: true,
  expand(builder, { target = broken, args }) {
    if (!['list', 'select', 'ident', 'comprehension', 'call'].includes(target.kind)) {
      const error = 'sortBy can only be applied to a list, identifier, comprehension, call or select expression';
      return { offset: target.offset, error };
    }
    const keys = expandMap(builder, { target: builder.ident(sortInput), args });
    if (isMacroError(keys)) return keys;
    const sorted = builder.memberCall('@sortByAssociatedKeys', builder.ident(sortInput), [keys]);
    return builder.bind(sortInput, target, sorted);
  },
};
