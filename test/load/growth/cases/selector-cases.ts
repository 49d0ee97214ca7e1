// Cases of selectors in queries. A request's head has room for 1 MiB.
import { configMaps, type GrowthCase, times } from '../growth-case.ts';

const inQuery = (text: string) => encodeURIComponent(text);

export const selectorCases: readonly GrowthCase[] = [
  {
    name: 'list with a label selector of many terms',
    full: 80_000,
    request: (n) => ({
      method: 'GET',
      path: `${configMaps}?labelSelector=${inQuery(times(n, (i) => `a${i}`).join(','))}`,
    }),
  },
  {
    name: 'list with a label selector of many values',
    full: 80_000,
    request: (n) => ({
      method: 'GET',
      path: `${configMaps}?labelSelector=${inQuery(`a in (${times(n, (i) => `v${i}`).join(',')})`)}`,
    }),
  },
  {
    name: 'list with a field selector of many terms',
    full: 40_000,
    request: (n) => ({
      method: 'GET',
      path: `${configMaps}?fieldSelector=${inQuery(times(n, () => 'metadata.name!=a').join(','))}`,
    }),
  },
  {
    name: 'list with a field selector of one long value',
    full: 900_000,
    request: (n) => ({ method: 'GET', path: `${configMaps}?fieldSelector=metadata.name%3D${'a'.repeat(n)}` }),
  },
];
