// The suite that every Storage passes. Its tests follow RunTest… of the Go library.
import { describe } from 'vitest';
import { listTableConformance } from './storage-conformance-list-tables.ts';
import { listConformance } from './storage-conformance-lists.ts';
import { pagingConformance } from './storage-conformance-paging.ts';
import { scopedWatchConformance } from './storage-conformance-scoped-watches.ts';
import { updateConformance } from './storage-conformance-updates.ts';
import { watchConformance } from './storage-conformance-watches.ts';
import { writeConformance } from './storage-conformance-writes.ts';
import { type OpenStorage, StorageBench } from './storage-fixture.ts';

/** Registers the tests for one implementation. `open` is called before each test. */
export function storageConformance(name: string, open: OpenStorage): void {
  describe(`${name} as a Storage`, () => {
    const bench = new StorageBench(open);
    describe('keys, creates and deletes', () => writeConformance(bench));
    describe('updates', () => updateConformance(bench));
    describe('reads and lists', () => listConformance(bench));
    describe('paged lists', () => pagingConformance(bench));
    describe('tables of lists', () => listTableConformance(bench));
    describe('watches', () => watchConformance(bench));
    describe('watches of a scope', () => scopedWatchConformance(bench));
  });
}
