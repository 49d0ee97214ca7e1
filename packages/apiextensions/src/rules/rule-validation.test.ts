import { collectFieldErrors, collectFieldErrorsInSlices, type Field } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { describe, expect, it } from 'vitest';
import { validateSpec } from '../definition/spec-validation.ts';
import { widgets } from '../testing/definition-fixture.ts';
import { PastRules } from './past-rules.ts';

type Spec = CustomResourceDefinition['spec'];

const long = { type: 'array', items: { type: 'string' } };

/** A rule whose worst case costs more than an expression may. */
const dear = (message?: string) => ({
  ...long,
  'x-kubernetes-validations': [{ rule: "self.all(a, self.all(b, a.contains('x') || b.contains('y')))", message }],
});

function specOf(properties: object, ...others: object[]): Spec {
  const versions = [properties, ...others].map((own, index) => ({
    name: `v${index + 1}`,
    schema: { openAPIV3Schema: { type: 'object', properties: own } },
  }));
  const { spec } = widgets({ versions: versions as unknown as CustomResourceDefinitionVersion[] });
  return { ...spec, names: { ...spec.names, singular: 'widget', listKind: 'WidgetList' } };
}

function errorsOf(spec: Spec, old?: Spec): readonly string[] {
  const errors = collectFieldErrors((root: Field) => validateSpec(root.child('spec'), spec, old && { spec: old }));
  return errors.map(({ field, detail }) => `${field}: ${detail.split('\n')[0]}`);
}

const tooDear = /rule: estimated rule cost exceeds budget by factor of more than 100x/;

describe('rules of a definition that is updated', () => {
  it('may cost more than a new expression when the schema is the old one', () => {
    const spec = specOf({ a: dear() });
    expect(errorsOf(spec).filter((error) => tooDear.test(error))).toHaveLength(1);
    expect(errorsOf(spec, spec).filter((error) => tooDear.test(error))).toHaveLength(0);
    expect(errorsOf(specOf({ a: dear('more') }), spec).filter((error) => tooDear.test(error))).toHaveLength(1);
  });

  it('may cost more in the version that has not changed alone', () => {
    const old = specOf({ a: dear() }, { b: dear() });
    const errors = errorsOf(specOf({ a: dear() }, { b: dear('more') }), old);
    expect(errors.filter((error) => tooDear.test(error)).map((error) => error.slice(0, 16))).toEqual([
      'spec.versions[1]',
    ]);
  });

  it('are known by their texts, in whatever version and place', () => {
    const rule = { rule: 'self > 1', messageExpression: "'no'" };
    const old = specOf({}, { a: { type: 'array', items: { type: 'integer', 'x-kubernetes-validations': [rule] } } });
    const past = new PastRules(specOf({}), old);
    expect([past.hasRule('self > 1'), past.hasRule('self > 2'), past.hasRule("'no'")]).toEqual([true, false, false]);
    expect([past.hasMessage("'no'"), past.hasMessage('self > 1')]).toEqual([true, false]);
    expect(new PastRules(old, undefined).hasRule('self > 1')).toBe(false);
  });
});

describe('rules of a schema with errors', () => {
  it('are left alone there and above, and looked at elsewhere', () => {
    const wrong = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self.nope' }] };
    const faulty = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self.nope' }, { rule: '' }] };
    const errors = errorsOf(
      specOf({
        a: { type: 'object', properties: { b: faulty }, 'x-kubernetes-validations': [{ rule: 'self.nope' }] },
        c: wrong,
      }),
    );
    expect(errors.map((error) => error.replace('spec.validation.openAPIV3Schema.', ''))).toEqual([
      'properties[a].properties[b].x-kubernetes-validations[1].rule: rule is not specified',
      "properties[c].x-kubernetes-validations[0].rule: compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection",
    ]);
  });

  it('are not looked at when it is not structural', () => {
    const rule = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self.nope' }] };
    expect(errorsOf(specOf({ a: rule, b: { description: 'no type' } }))).toEqual([
      'spec.validation.openAPIV3Schema.properties[b].type: must not be empty for specified object fields',
    ]);
  });
});

describe('a definition with many rules', () => {
  it('is validated with a pause before each of them', () => {
    const rules = Array.from({ length: 40 }, (_, index) => ({ rule: `self > ${index}` }));
    const spec = specOf({ a: { type: 'integer', 'x-kubernetes-validations': rules } });
    const work = collectFieldErrorsInSlices((root) => validateSpec(root.child('spec'), spec));
    let pauses = 0;
    while (work.next().done !== true) pauses++;
    // A rule has pauses before and after it, and after its text, its tokens and its types were read.
    expect(pauses).toBeGreaterThanOrEqual(5 * 40);
  });
});
