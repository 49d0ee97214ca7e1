import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { answerRules, type RecordedRulesAnswer, type RecordedRulesQuestion } from '../testing/recorded-rules.ts';

interface RecordedCase extends RecordedRulesQuestion, Omit<RecordedRulesAnswer, 'evaluations'> {
  readonly id: string;
  readonly note?: string;
  readonly evaluations?: readonly (NonNullable<RecordedRulesAnswer['evaluations']>[number] & RecordedUpdate)[];
}

type RecordedUpdate = NonNullable<RecordedRulesQuestion['evaluations']>[number];
type Errors = RecordedRulesAnswer['crdErrors'];

const folder = new URL('../../fixtures/rules/', import.meta.url);
const topics = readdirSync(folder).map((file) => file.replace('.json', ''));

/** Our syntax errors have other words, and megabytes of text are not shown whole. */
function shown(errors: Errors): readonly string[] {
  const texts = errors.map(({ field, type, text }) => {
    const hasOwnWords = /Syntax error/.test(text) || text.length > 8_000;
    return hasOwnWords ? `${field} ${type}` : text;
  });
  return texts.sort();
}

function costs({ static: estimates, staticTotal }: Pick<RecordedRulesAnswer, 'static' | 'staticTotal'>): unknown {
  return { estimates, staticTotal };
}

describe.each(topics)('recorded rules: %s', (topic) => {
  const cases = JSON.parse(readFileSync(new URL(`${topic}.json`, folder), 'utf8')) as RecordedCase[];

  it.each(cases.map((each) => [each.id, each.note ?? 'without a note', each] as const))(
    'gives what is recorded: %s %s',
    (_, __, want) => {
      const got = answerRules(want);
      expect(shown(got.crdErrors)).toEqual(shown(want.crdErrors));
      if (want.static !== undefined) expect(costs(got)).toEqual(costs(want));
      for (const [index, { errors, warnings = [], cost }] of (want.evaluations ?? []).entries()) {
        const evaluation = got.evaluations?.[index];
        expect(shown(evaluation?.errors ?? [])).toEqual(shown(errors));
        expect(evaluation?.warnings ?? []).toEqual(warnings);
        expect(evaluation?.cost).toBe(cost);
      }
    },
    // Some objects spend their whole budget, which takes long on a busy machine.
    60_000,
  );
});
