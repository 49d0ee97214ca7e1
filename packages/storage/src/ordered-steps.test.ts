import { settle } from '@kapstan/api/testing';
import { expect, it } from 'vitest';
import { isStorageError } from './errors/storage-error.ts';
import { OrderedSteps } from './ordered-steps.ts';

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

it('runs a step without a need at once, while nothing waits', async () => {
  const done: number[] = [];
  const steps = new OrderedSteps(() => expect.fail());
  const first = gate();
  steps.run(undefined, () => done.push(1));
  expect(done).toEqual([1]);
  steps.run(first.opened, () => done.push(2));
  first.open();
  await settle();
  steps.run(undefined, () => done.push(3));
  expect(done, 'at once again when all that waited is done').toEqual([1, 2, 3]);
});

it('keeps the order whatever is ready first', async () => {
  const done: number[] = [];
  const steps = new OrderedSteps(() => expect.fail());
  const [one, three] = [gate(), gate()];
  steps.run(one.opened, () => done.push(1));
  steps.run(undefined, () => done.push(2));
  steps.run(three.opened, () => done.push(3));
  three.open();
  await settle();
  expect(done).toEqual([]);
  one.open();
  await settle();
  expect(done).toEqual([1, 2, 3]);
});

it('reports what a late step threw and goes on', async () => {
  const errors: unknown[] = [];
  const done: number[] = [];
  const steps = new OrderedSteps((error) => errors.push(error));
  const boom = new Error('boom');
  steps.run(Promise.resolve(), () => {
    throw boom;
  });
  steps.run(undefined, () => done.push(2));
  await settle();
  expect({ errors, done }).toEqual({ errors: [boom], done: [2] });
});

it('lets 10,000 steps wait and no more (I5)', () => {
  const errors: unknown[] = [];
  const steps = new OrderedSteps((error) => errors.push(error));
  const never = gate().opened;
  for (let i = 0; i < 10_000; i++) steps.run(never, () => undefined);
  expect(errors).toEqual([]);
  steps.run(undefined, () => undefined);
  expect(isStorageError(errors[0], 'NotReady')).toBe(true);
});
