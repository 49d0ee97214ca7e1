import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { fieldElement } from './path-element.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function usedBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

it('long names, which only data has, are not kept', () => {
  const usedBefore = usedBytes();
  for (let index = 0; index < 40; index++) {
    const name = `${Buffer.alloc(500_000, 'x').toString()}${index}`;
    expect(fieldElement(name)).toHaveLength(name.length + 2);
  }
  expect(usedBytes() - usedBefore).toBeLessThan(5_000_000);
});
