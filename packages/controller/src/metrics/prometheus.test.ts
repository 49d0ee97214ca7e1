// Checks that the files of prom-client that prometheus.ts names export the same as its main entry point.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import * as parts from './prometheus.ts';

it('the parts of prom-client are the classes of its front door', () => {
  expect({ ...parts }, 'prom-client moved its files: mend prometheus.ts').toEqual({
    Counter,
    Gauge,
    Histogram,
    Registry,
  });
});
