// Cases of selectors in queries and of other long heads. A request's head has room for 1 MiB.
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
    codes: [200, 400],
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
  {
    name: 'list with an Accept header of many media types',
    full: 60_000,
    codes: [406],
    request: (n) => ({ method: 'GET', path: configMaps, accept: times(n, (i) => `a/b${i}`).join(',') }),
  },
  {
    name: 'get of a path of bytes that are not UTF-8',
    full: 100_000,
    codes: [404],
    request: (n) => ({ method: 'GET', path: `${configMaps}/${'%ff'.repeat(n)}` }),
  },
];
