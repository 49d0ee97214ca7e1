// The macro `cel.bind(name, value, result)`. Source: cel-go ext/bindings.go.
import type { Expr } from './expr.ts';
import type { Macro } from './macros.ts';

const broken: Expr = { kind: 'broken', offset: 0 };

export const bindMacro: Macro = {
  name: 'bind',
  argCount: 3,
  isMember: true,
  expand(builder, { target = broken, args }) {
    if (target.kind !== 'ident' || target.name !== 'cel') return builder.memberCall('bind', target, [...args]);
    const [variable = broken, value = broken, result = broken] = args;
    if (variable.kind !== 'ident')
      return { offset: variable.offset, error: 'cel.bind() variable names must be simple identifiers' };
    return builder.bind(variable.name, value, result);
  },
};
