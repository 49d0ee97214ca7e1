// Cases of a kind of the program, which server.mjs serves from a schema and functions.
import type { GrowthCase } from '../growth-case.ts';
import { times } from '../growth-case.ts';

const collection = '/apis/own.growth.example.com/v1/namespaces/default/owns';
const ownObject = (list: readonly object[]): object => ({
  ...{ apiVersion: 'own.growth.example.com/v1', kind: 'Own', metadata: { name: 'growth' } },
  spec: { list },
});

const own = (name: string, full: number, of: (index: number) => object): GrowthCase => ({
  name: `kind of the program: ${name}`,
  full,
  request: (n) => ({ method: 'POST', path: collection, body: ownObject(times(n, of)) }),
  made: [`${collection}/growth`],
});

export const ownKindCases: readonly GrowthCase[] = [
  own('items with defaults', 60_000, (n) => ({ n })),
  own('wrong items', 240_000, () => ({ n: -1 })),
];
