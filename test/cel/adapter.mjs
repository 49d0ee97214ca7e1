// Our implementation for the comparer of recorded facts: node compare.mjs test/cel/adapter.mjs
// `npm test` compares the same facts in packages/cel/src/recorded-facts.test.ts.
import { register } from 'node:module';

register('../source-hooks.mjs', import.meta.url);
const { answer } = await import('../../packages/cel/src/testing/recorded-case.ts');

export function expression(question) {
  return answer(question);
}

/** Rules of definitions need structural schemas, which this package does not have. */
export function rules() {
  return { crdErrors: [{ field: '', type: 'not yet', text: 'rules of definitions are not built yet' }] };
}
