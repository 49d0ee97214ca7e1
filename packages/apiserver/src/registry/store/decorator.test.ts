import type { Revision, UnstructuredObject } from '@kapstan/api';
import { Stored } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { Decorator } from './decorator.ts';

const count = 1000;

/** Simulates a kind that computes much on read. */
function work(): void {
  const endMs = performance.now() + 0.1;
  while (performance.now() < endMs);
}

function items(): readonly Stored<UnstructuredObject>[] {
  return Array.from({ length: count }, (_, i) => {
    const stored = new Stored<UnstructuredObject>(`/o${i}`, 1 as Revision, { metadata: { name: `o${i}` } });
    return stored;
  });
}

describe('Decorator', () => {
  it('decorates a list a slice a turn, so that others are not kept waiting', async () => {
    let decorated = 0;
    const decorator = new Decorator<UnstructuredObject>((object) => {
      decorated++;
      work();
      object.computed = true;
    });
    const plain = items();
    const twins = decorator.ofAll(plain);
    expect(decorated).toBeGreaterThan(0);
    expect(decorated, 'in the first turn').toBeLessThan(count / 4);
    expect((await twins).map((twin) => twin.object.computed)).toEqual(Array(count).fill(true));
    expect(plain[0]?.object).not.toHaveProperty('computed');
    expect((await twins)[0]).toBe(decorator.of(plain[0] as Stored<UnstructuredObject>));
  });

  it('answers with the very list where a kind computes nothing', async () => {
    const plain = items();
    expect(await new Decorator<UnstructuredObject>(undefined).ofAll(plain)).toBe(plain);
  });
});
