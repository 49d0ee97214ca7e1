// Our implementation for the comparer of recorded facts: node compare.mjs test/cel/adapter.mjs
// `npm test` compares the same facts in packages/cel/src/recorded-facts.test.ts and packages/apiextensions/src/rules/recorded-rules.test.ts.
import { register } from 'node:module';

register('../source-hooks.mjs', import.meta.url);
const { answer } = await import('../../packages/cel/src/testing/recorded-case.ts');
const { answerRules } = await import('../../packages/apiextensions/src/testing/recorded-rules.ts');

export function expression(question) {
  return answer(question);
}

export function rules(question) {
  return answerRules(question);
}
