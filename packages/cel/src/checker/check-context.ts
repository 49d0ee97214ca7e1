// CheckContext: what the parts of the checker need of it.
import type { Environment } from '../environment.ts';
import type { Expr } from '../syntax/expr.ts';
import type { TypeMapping } from '../types/assignability.ts';
import type { CelType } from '../types/cel-type.ts';

export interface CheckContext {
  readonly environment: Environment;
  readonly mapping: TypeMapping;
  check(expr: Expr): void;
  typeOf(expr: Expr): CelType;
  setType(expr: Expr, type: CelType): void;
  /** The type inside of an optional, or the type itself after an error that it is none. */
  unwrapOptional(expr: Expr): CelType;
  newTypeVariable(): CelType;
  report(place: { readonly offset: number }, message: string): void;
  reportUndeclared(expr: Expr, name: string): void;
}
