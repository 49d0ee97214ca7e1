// The selectors of a request as authorizers see them.
import type { SelectorTerms } from './authorizer.ts';

/** Returns the terms of a selector's text; "" has no terms. */
export function parsedTerms<T>(text: string, parse: (text: string) => readonly T[]): SelectorTerms<T> | undefined {
  if (text === '') return undefined;
  try {
    const requirements = parse(text);
    return requirements.length === 0 ? undefined : { requirements };
  } catch (error) {
    if (error instanceof TypeError) return { requirements: [], error };
    throw error;
  }
}
