import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { firstDecision, type MaybePromise } from './first-decision.ts';

const asked: string[] = [];
const decisionOf = (answers: readonly MaybePromise<string>[]): MaybePromise<string> => {
  asked.length = 0;
  return firstDecision(answers, {
    ask: (answer) => {
      asked.push(typeof answer === 'string' ? answer : 'later');
      return answer;
    },
    decide: (answer) => (answer === 'no' ? undefined : answer),
    otherwise: () => 'nobody',
  });
};
/** A promise of another realm, which is not an instance of our Promise. */
const elsewhere = (answer: string): Promise<string> => runInNewContext('Promise.resolve(answer)', { answer });
const later = (answer: string): Promise<string> => Promise.resolve(answer);

it.each<[string, () => readonly MaybePromise<string>[], string, number]>([
  ['nobody is there', () => [], 'nobody', 0],
  ['nobody decides it', () => ['no', later('no'), 'no'], 'nobody', 3],
  ['the first decides it', () => ['yes', 'other'], 'yes', 1],
  ['a promise of another realm decides it', () => [elsewhere('no'), elsewhere('yes'), 'other'], 'yes', 2],
  ['one decides it later', () => ['no', later('yes'), 'other'], 'yes', 2],
  ['one decides it after another that answered later', () => [later('no'), 'no', later('yes'), 'other'], 'yes', 4 - 1],
])('those asked in turn: %s', async (_what, answers, decision, count) => {
  expect(await decisionOf(answers())).toBe(decision);
  expect(asked).toHaveLength(count);
});

it('is known at once as far as they know it at once', () => {
  expect(decisionOf(['no', 'yes', later('other')])).toBe('yes');
  expect(decisionOf(['no', 'no'])).toBe('nobody');
  for (const answer of [later('yes'), elsewhere('yes')]) expect(decisionOf(['no', answer])).toBeInstanceOf(Promise);
});

it('fails as the one fails that is asked', async () => {
  const failing = { ask: () => Promise.reject(new Error('no store')), decide: () => undefined, otherwise: () => 0 };
  await expect(firstDecision([1, 2], failing)).rejects.toThrow('no store');
  const throwing = () => {
    throw new Error('at once');
  };
  expect(() => firstDecision([1], { ...failing, ask: throwing })).toThrow('at once');
});
