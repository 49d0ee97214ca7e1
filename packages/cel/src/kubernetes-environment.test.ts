import { describe, expect, it } from 'vitest';
import { compile } from './compile.ts';
import { kubernetesEnvironment, newExpressions, storedExpressions } from './kubernetes-environment.ts';

const compilesIn = (version: string, text: string): boolean => {
  try {
    compile(text, { environment: kubernetesEnvironment(version) });
    return true;
  } catch {
    return false;
  }
};

/** The first version that compiles an expression. */
const firstVersion = (text: string): number => {
  for (let minor = 23; minor <= 36; minor++) if (compilesIn(`1.${minor}`, text)) return minor;
  return Number.NaN;
};

describe('the environments of Kubernetes', () => {
  it.each([
    ["url('https://a/b').getHost() == 'a'", 23],
    ["'abc'.find('b') == 'b'", 23],
    ['[1].sum() == 1', 23],
    ["'a'.lowerAscii() == 'a'", 23],
    ['1 < 2.0', 28],
    ['optional.of(1).hasValue()', 28],
    ["{'a': 1}.?a.hasValue()", 28],
    ["quantity('1').isInteger()", 28],
    ["'%d'.format([1]) == '1'", 29],
    ['sets.contains([1], [1])', 29],
    ["ip('::1').family() == 6", 30],
    ["cidr('10.0.0.0/8').prefixLength() == 8", 30],
    ["format.named('uri').hasValue()", 31],
    ['[1].all(i, v, v == 1)', 32],
    ["semver('1.0.0').major() == 1", 33],
    ['[2, 1].sort() == [1, 2]', 34],
  ])('know %s since 1.%d', (text, minor) => {
    expect(firstVersion(text)).toBe(minor);
  });

  it('refuse operands of different types, and from 1.29 on invalid durations', () => {
    expect(compilesIn('1.25', "[1, 'a'].size() == 2")).toBe(false);
    expect(compilesIn('1.28', "duration('x') == duration('y')")).toBe(true);
    expect(compilesIn('1.29', "duration('x') == duration('y')")).toBe(false);
  });

  it('are those of 1.35 for new expressions and of 1.36 for stored ones', () => {
    expect(newExpressions()).toBe(kubernetesEnvironment('1.35'));
    expect(storedExpressions()).toBe(kubernetesEnvironment('v1.36'));
  });

  it.each(['1.22', '1.37', '2.0', '', '1'])('do not exist for %j', (version) => {
    expect(() => kubernetesEnvironment(version)).toThrow(RangeError);
  });
});
