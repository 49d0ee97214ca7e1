// The library of mutating policies: escapes keys for JSON pointers.
import type { Library } from '../environment/library.ts';
import { globalOverload, oneOverload } from '../types/function-declaration.ts';

const escapes: Readonly<Record<string, string>> = { '~': '~0', '/': '~1' };

function escapeKey(key: string): string {
  return key.replace(/[~/]/g, (char) => escapes[char] ?? char);
}

/** The function `jsonpatch.escapeKey`. */
export const jsonPatchLibrary: Library = {
  name: 'kubernetes.jsonpatch',
  functions: [
    oneOverload(
      'jsonpatch.escapeKey',
      globalOverload('string_jsonpatch_escapeKey_string', 'string -> string', escapeKey),
    ),
  ],
};
