import { runWhole } from '@kapstan/api/internal';
import { CompileFault } from '@kapstan/apiserver/internal';
import { describe, expect, it } from 'vitest';
import { deviceExpressionFault } from './device-expressions.ts';

function faultOf(text: string): string | undefined {
  const fault = runWhole(deviceExpressionFault(text, false));
  return fault instanceof CompileFault ? fault.detail : fault;
}

/** Asks for every pair (or more) of domains. */
function nested(depth: number): string {
  if (depth === 0) return 'device.driver == "a"';
  return `device.attributes.all(d${depth}, ${nested(depth - 1)})`;
}

// More cases, with the answers of kube-apiserver, are in test/wire/golden/scenarios/b-device-selectors.json.
describe('an expression that selects devices', () => {
  it.each([
    'device.driver == "a.example.com"',
    'device.attributes["a.example.com"].flag',
    'device.capacity["a.example.com"].memory.isGreaterThan(quantity("1Gi"))',
    'cel.bind(a, device.attributes["a.example.com"], a.one == 1 && a.two == "x")',
    nested(2),
  ])('may be %s', (text) => {
    expect(faultOf(text)).toBeUndefined();
  });

  it.each([
    ['device.driver', /^must evaluate to bool or the unknown type, not string$/],
    ['device.model == 1', /^compilation failed: .*undefined field 'model'/s],
    ['object == 1', /^compilation failed: .*undeclared reference to 'object'/s],
    ['x.bind(a, 2, true)', /^compilation failed: .*undeclared reference to 'x'/s],
    ['cel.bind(1, 2, true)', /cel\.bind\(\) variable names must be simple identifiers/],
  ])('may not be %s', (text, fault) => {
    expect(faultOf(text)).toMatch(fault);
  });

  it('may not cost more than a million for the largest device', () => {
    expect([faultOf(nested(3)), faultOf(nested(4))]).toEqual([undefined, 'costly']);
  });
});
