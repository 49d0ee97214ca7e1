// Selectors in queries. Node takes 16 KiB of a request's head, so long ones come in bodies or in the URL's bound.
import { configMaps, type GrowthCase, times } from '../growth-case.ts';

const inQuery = (text: string) => encodeURIComponent(text);

export const selectorCases: readonly GrowthCase[] = [
  {
    name: 'list with a label selector of many terms',
    full: 3_000,
    request: (n) => ({
      method: 'GET',
      path: `${configMaps}?labelSelector=${inQuery(times(n, (i) => `a${i}`).join(','))}`,
    }),
  },
  {
    name: 'list with a label selector of many values',
    full: 3_000,
    request: (n) => ({
      method: 'GET',
      path: `${configMaps}?labelSelector=${inQuery(`a in (${times(n, (i) => `v${i}`).join(',')})`)}`,
    }),
  },
  {
    name: 'list with a field selector of many terms',
    full: 1_000,
    request: (n) => ({
      method: 'GET',
      path: `${configMaps}?fieldSelector=${inQuery(times(n, () => 'metadata.name!=a').join(','))}`,
    }),
  },
];
