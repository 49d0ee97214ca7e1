import { describe, expect, it } from 'vitest';
import { runWhole } from '../time/sliced-work.ts';
import { labelRequirement } from './label-requirement.ts';
import { parseLabelSelector, parseLongLabelSelector } from './label-selector-parser.ts';
import { labelSelectorFrom } from './label-selector-spec.ts';

describe('parseLabelSelector', () => {
  const web = { env: 'prod', tier: 'front', weight: '7' };
  it.each([
    ['', true, ''],
    ['env=prod', true, 'env=prod'],
    ['env==dev', false, 'env==dev'],
    ['env!=dev', true, 'env!=dev'],
    ['absent!=x', true, 'absent!=x'],
    [' env in ( prod , dev ) ', true, 'env in (dev,prod)'],
    ['env notin (prod)', false, 'env notin (prod)'],
    ['tier', true, 'tier'],
    ['!tier', false, '!tier'],
    ['tier,env=prod', true, 'env=prod,tier'],
    ['env=', false, 'env='],
    ['env=,tier', false, 'env=,tier'],
    ['weight>5', true, 'weight>5'],
    ['weight<7', false, 'weight<7'],
    ['weight > 5, weight < 8', true, 'weight>5,weight<8'],
    ['tier>5', false, 'tier>5'],
    ['env in ()', false, 'env in ()'],
    ['env in (,prod)', true, 'env in (,prod)'],
    ['env in (prod,,dev)', true, 'env in (,dev,prod)'],
    ['env in (in,notin)', false, 'env in (in,notin)'],
    ['in in (in)', false, 'in in (in)'],
    ['example.com/a=b', false, 'example.com/a=b'],
    ['!tier\u0000rubbish', false, '!tier'],
  ])('reads %j', (text, matches, printed) => {
    const selector = parseLabelSelector(text);
    expect(selector.matches(web)).toBe(matches);
    expect(selector.toString()).toBe(printed);
    expect(parseLabelSelector(printed).toString()).toBe(printed);
  });

  const nameRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  it.each([
    // Recorded from a kube-apiserver 1.36.
    ['env near (prod)', "unable to parse requirement: found 'near', expected: in, notin, =, ==, !=, gt, lt"],
    ['env=a b', "found 'b', expected: ',' or 'end of string'"],
    ['env in (prod', "unable to parse requirement: found '', expected: ',' or ')'"],
    [',', "found ',', expected: !, identifier, or 'end of string'"],
    ['-x-=1', `unable to parse requirement: <nil>: Invalid value: "-x-": ${nameRule}`],
    [
      'env>abc',
      `unable to parse requirement: values[0]: Invalid value: "abc": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    // The rest of the grammar.
    ['a,', "found '', expected: identifier after ','"],
    ['a,,b', "found ',', expected: identifier after ','"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['a=(b)', "unable to parse requirement: found '(', expected: identifier"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['a in (b,', "unable to parse requirement: found '', expected: ',', or identifier"],
    ['a in (b,,)', "unable to parse requirement: found ')', expected: ',', or identifier"],
    ['a in (=)', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['a!b', "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
    [
      'a>',
      `unable to parse requirement: values[0]: Invalid value: "": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      'a>9223372036854775808',
      `unable to parse requirement: values[0]: Invalid value: "9223372036854775808": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      `a=${'v'.repeat(64)}`,
      `unable to parse requirement: values[0][a]: Invalid value: "${'v'.repeat(64)}": must be no more than 63 bytes`,
    ],
    ['/a', 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'],
    ['x/', `unable to parse requirement: <nil>: Invalid value: "x/": name part must be non-empty; ${nameRule}`],
  ])('refuses %j with the text of Kubernetes', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(new TypeError(message));
  });

  it('does not find labels on the prototype', () => {
    expect(parseLabelSelector('constructor').matches({})).toBe(false);
    expect(parseLabelSelector('toString!=x').matches({})).toBe(true);
    expect(parseLabelSelector('constructor=x').matches(JSON.parse('{"constructor":"x"}'))).toBe(true);
  });

  it('compares as 64-bit integers and lets other values match neither', () => {
    const more = parseLabelSelector('n>9007199254740992');
    expect(more.matches({ n: '9007199254740993' })).toBe(true);
    expect(more.matches({ n: '9007199254740992' })).toBe(false);
    expect(more.matches({ n: '99999999999999999999' })).toBe(false);
    expect(more.matches({ n: '1e99' })).toBe(false);
  });

  it('knows the value that a label must have', () => {
    expect(parseLabelSelector('a=1,b in (2),c in (3,4),d').exactValue('a')).toBe('1');
    expect(parseLabelSelector('a=1,b in (2),c in (3,4),d').exactValue('b')).toBe('2');
    expect(parseLabelSelector('a=1,b in (2),c in (3,4),d').exactValue('c')).toBeUndefined();
    expect(parseLabelSelector('a!=1').exactValue('a')).toBeUndefined();
  });
});

describe('labelSelectorFrom', () => {
  it('selects nothing when absent and everything when empty', () => {
    expect(labelSelectorFrom(undefined).matches({})).toBe(false);
    expect(labelSelectorFrom(null).isEmpty).toBe(false);
    expect(labelSelectorFrom({}).isEmpty).toBe(true);
    expect(labelSelectorFrom({ matchLabels: {}, matchExpressions: [] }).matches({ a: 'b' })).toBe(true);
  });

  it('joins labels and expressions', () => {
    const selector = labelSelectorFrom({
      matchLabels: { z: '1', a: '2' },
      matchExpressions: [
        { key: 'e', operator: 'In', values: ['y', 'x'] },
        { key: 'f', operator: 'NotIn', values: ['q'] },
        { key: 'g', operator: 'Exists' },
        { key: 'h', operator: 'DoesNotExist', values: [] },
      ],
    });
    expect(selector.toString()).toBe('a=2,e in (x,y),f notin (q),g,!h,z=1');
    expect(selector.matches({ a: '2', z: '1', e: 'x', g: '' })).toBe(true);
    expect(selector.matches({ a: '2', z: '1', e: 'x', g: '', h: '' })).toBe(false);
  });

  it.each([
    [{ key: 'a', operator: 'Near' }, '"Near" is not a valid label selector operator'],
    [{ key: 'a', operator: 'In' }, "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"],
    [
      { key: 'a', operator: 'Exists', values: ['x'] },
      'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
    ],
  ])('refuses the expression %j', (expression, message) => {
    expect(() => labelSelectorFrom({ matchExpressions: [expression] })).toThrow(new TypeError(message));
  });
});

describe('labelRequirement', () => {
  it('names every error at once', () => {
    expect(() => labelRequirement('a/b/c', '=', [])).toThrow(
      /^\[key: Invalid value: "a\/b\/c": a valid label key must .*, values: Invalid value: \[\]: exact-match compatibility requires one single value\]$/,
    );
  });
});

describe('a long selector', () => {
  const text = Array.from({ length: 4_000 }, (_, index) => `key${index}=v`).join(',');

  it('is parsed in slices, and found again while somebody holds it', () => {
    const work = parseLongLabelSelector(text);
    let slices = 1;
    let step = work.next();
    for (; step.done !== true; step = work.next()) slices++;
    expect(slices).toBeGreaterThan(10);
    expect(step.value?.selector?.requirements).toHaveLength(4_000);
    expect(parseLabelSelector(text)).toBe(step.value?.selector);
  });

  it('is refused with the same text each time', () => {
    const held = runWhole(parseLongLabelSelector(`${text},!!`));
    expect(held?.error?.message).toBe("unable to parse requirement: found '!', expected: identifier");
    expect(() => parseLabelSelector(`${text},!!`)).toThrow(held?.error);
  });

  it('is not long when it has only a few terms', () => {
    expect(runWhole(parseLongLabelSelector('a=b'))).toBeUndefined();
  });
});
