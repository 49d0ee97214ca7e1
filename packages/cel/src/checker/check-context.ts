// CheckContext: the parts of the checker as its steps use them.
import type { Environment } from '../environment/environment.ts';
import type { Expr } from '../syntax/expr.ts';
import type { TypeMapping } from '../types/assignability.ts';
import type { CelType } from '../types/cel-type.ts';

export interface CheckContext {
  readonly environment: Environment;
  readonly mapping: TypeMapping;
  check(expr: Expr): void;
  typeOf(expr: Expr): CelType;
  setType(expr: Expr, type: CelType): void;
  /** Returns the type inside an optional; for another type, the type itself after reporting an error. */
  unwrapOptional(expr: Expr): CelType;
  newTypeVariable(): CelType;
  report(place: { readonly offset: number }, message: string): void;
  reportUndeclared(expr: Expr, name: string): void;
}
