// Reports an expression that does not compile. Used by the kinds whose objects hold expressions.
import type { CompileFault, Field } from '@kapstan/apiserver/internal';

/** Source: convertCELErrorToValidationError. */
export function tellFault(at: Field, expression: string, { detail, isInternal }: CompileFault): void {
  if (isInternal) at.internal(detail);
  else at.invalid(expression, detail);
}
