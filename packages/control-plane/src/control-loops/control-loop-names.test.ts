import { describe, expect, it } from 'vitest';
import { controlLoopNamed, controlLoopNames, selectControlLoops } from './control-loop-names.ts';

describe('selectControlLoops', () => {
  it.each([
    [[], []],
    [['none'], []],
    [['*'], [...controlLoopNames]],
    [['serviceaccount-controller'], ['serviceaccount-controller']],
    [['serviceaccount', 'serviceaccount-controller'], ['serviceaccount-controller']],
    [['*', '-serviceaccount'], controlLoopNames.filter((name) => name !== 'serviceaccount-controller')],
    [['*', '-serviceaccount', 'serviceaccount'], [...controlLoopNames]],
    [['-serviceaccount'], []],
  ] as const)('takes %j as %j', (list, names) => {
    expect(selectControlLoops(list)).toEqual(names);
  });

  it.each([
    [['deployment'], '"deployment" is not in the list of known controllers'],
    [['*', '-replicaset'], '"-replicaset" is not in the list of known controllers'],
    [[''], '"" is not in the list of known controllers'],
    [['none', '*'], '"none" must stand alone'],
  ] as const)('refuses %j', (list, message) => {
    expect(() => selectControlLoops(list)).toThrow(new TypeError(message));
  });
});

it('leaves the garbage collector out where it is disabled, and refuses its name', () => {
  const others = controlLoopNames.filter((name) => name !== 'garbage-collector-controller');
  expect(selectControlLoops(['*'], { collectsGarbage: false })).toEqual(others);
  expect(() => selectControlLoops(['garbagecollector'], { collectsGarbage: false })).toThrow(
    new TypeError('"garbage-collector-controller" cannot run where the garbage collector is disabled'),
  );
});

it('knows the short names that kube-controller-manager still takes', () => {
  expect(controlLoopNamed('root-ca-cert-publisher')).toBe('root-ca-certificate-publisher-controller');
  expect(controlLoopNamed('pvc-protection')).toBe('persistentvolumeclaim-protection-controller');
  expect(controlLoopNamed('pv-protection')).toBe('persistentvolume-protection-controller');
  expect(controlLoopNamed('controller')).toBeUndefined();
});
