// Matches patterns in texts. plan/function-plan.ts compiles constant patterns once.
import type { Library } from '../environment/library.ts';
import { compilePattern, findAllPattern, findPattern } from '../patterns/pattern.ts';
import { memberOverload } from '../types/function-declaration.ts';
import { CelFailure, isFailure } from '../values/failure.ts';
import type { Int } from '../values/integers.ts';

function illegal({ message }: CelFailure): CelFailure {
  return new CelFailure(`Illegal regex: ${message}`);
}

function find(text: string, pattern: string): unknown {
  const compiled = compilePattern(pattern);
  return isFailure(compiled) ? illegal(compiled) : findPattern(compiled, text);
}

function findAll(text: string, pattern: string, limit: Int = -1): unknown {
  const compiled = compilePattern(pattern);
  return isFailure(compiled) ? illegal(compiled) : findAllPattern(compiled, text, Number(limit));
}

export const regexLibrary: Library = {
  name: 'kubernetes.regex',
  functions: [
    { name: 'find', overloads: [memberOverload('string_find_string', 'string, string -> string', find)] },
    {
      name: 'findAll',
      overloads: [
        memberOverload('string_find_all_string', 'string, string -> list(string)', findAll),
        memberOverload('string_find_all_string_int', 'string, string, int -> list(string)', findAll),
      ],
    },
  ],
};
