import { expect, it } from 'vitest';
import { NumberSeries } from './number-series.ts';

it('counts by labels, in the order in which they first came', () => {
  const series = new NumberSeries();
  series.add({ code: '200' });
  series.add({ code: '404' }, 2);
  series.add({ code: '200' });
  expect(series.samples()).toEqual([
    { labels: { code: '200' }, value: 2 },
    { labels: { code: '404' }, value: 2 },
  ]);
});

it('keeps what was set last, and forgets what is removed', () => {
  const series = new NumberSeries();
  series.set({}, 1);
  series.set({}, 7);
  series.set({ gone: 'yes' }, 1);
  series.remove({ gone: 'yes' });
  expect(series.samples()).toEqual([{ labels: {}, value: 7 }]);
});
