import type { Toleration } from '@kapstan/kinds/core/v1';
import { expect, it } from 'vitest';
import { mergeTolerations } from './toleration-merge.ts';

const exists = (key: string): Toleration => ({ key, operator: 'Exists' });
const equal = (value: string): Toleration => ({ key: 'k', operator: 'Equal', value });
const plain: Toleration = { key: 'k', value: 'v' };
const scheduling: Toleration = { ...exists('k'), effect: 'NoSchedule' };
const everything: Toleration = { operator: 'Exists' };
const running = (tolerationSeconds?: number): Toleration => ({
  ...exists('k'),
  effect: 'NoExecute',
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});

it.each<[Toleration[], Toleration[], Toleration[]]>([
  [[], [], []],
  [[exists('a')], [exists('b')], [exists('a'), exists('b')]],
  [[exists('a')], [exists('a')], [exists('a')]],
  [[scheduling], [exists('k')], [exists('k')]],
  [[exists('k')], [scheduling], [exists('k')]],
  [[exists('a'), equal('v')], [everything], [everything]],
  [[equal('v')], [exists('k')], [exists('k')]],
  [[equal('v')], [equal('w')], [equal('v'), equal('w')]],
  [[plain], [equal('v')], [plain]],
  [[equal('v')], [plain], [plain]],
  [[{ ...plain, effect: 'NoSchedule' }], [equal('v')], [{ ...plain, effect: 'NoSchedule' }, equal('v')]],
  [[running(10)], [running(20)], [running(20)]],
  [[running(20)], [running(10)], [running(20)]],
  [[running(20)], [running()], [running()]],
  [[running(0)], [running(10)], [running(10)]],
  [[running()], [scheduling], [running(), scheduling]],
])('%#: keeps what no other covers', (first, second, merged) => {
  expect(mergeTolerations(first, second)).toEqual(merged);
});
