// Library: a part of the language beyond its operators, as an Environment takes it. libraries/ has those of Kubernetes.
import type { Macro } from '../syntax/macros.ts';
import type { CelType } from '../types/cel-type.ts';
import type { FunctionDeclaration } from '../types/function-declaration.ts';

/** Functions, macros and types that belong together. */
export interface Library {
  readonly name: string;
  readonly functions?: readonly FunctionDeclaration[];
  readonly macros?: readonly Macro[];
  /** Types that expressions may name, as in `type(x) == int`. */
  readonly types?: readonly CelType[];
  /** True if `a.?b`, `a[?b]` and `[?a]` are part of the language. */
  readonly hasOptionalSyntax?: boolean;
}
