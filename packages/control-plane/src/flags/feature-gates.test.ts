import { describe, expect, it } from 'vitest';
import { featureGatesFlag } from './feature-gates.ts';

describe('--feature-gates', () => {
  const { parse, default: defaults } = featureGatesFlag('');

  it('takes other gates at their defaults, and the last setting of ours', () => {
    expect(parse('')).toEqual(defaults);
    expect(parse('WatchList=true, kube:APIServingWithRoutine=0,MultiCIDRServiceAllocator=T')).toEqual(defaults);
    const gate = 'AllowUnsafeMalformedObjectDeletion';
    expect(parse(`${gate}=true`)).toEqual({ ...defaults, [gate]: true });
    expect(parse(`${gate}=true,kube:${gate}=false`)).toEqual(defaults);
    expect(parse('APIServerIdentity=false')).toEqual({ ...defaults, APIServerIdentity: false });
  });

  it.each([
    ['Foo=true', 'unrecognized feature gate: Foo'],
    ['toString=true', 'unrecognized feature gate: toString'],
    ['WatchList', 'missing bool value for WatchList'],
    ['WatchList=x', 'invalid value of WatchList=x, err: strconv.ParseBool: parsing "x": invalid syntax'],
    ['WatchList=false', 'WatchList=false is not supported by this version of kapstan'],
    ['APIServingWithRoutine=true', 'APIServingWithRoutine=true is not supported by this version of kapstan'],
  ])('refuses %s', (text, why) => {
    expect(() => parse(text)).toThrow(why);
  });
});
