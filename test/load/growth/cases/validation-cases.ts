// Cases of lists and maps in kinds with special validation rules, valid and invalid.
import { creates, type GrowthCase, pod, pods, times } from '../growth-case.ts';

const container = (more: object) => ({ containers: [{ name: 'c', image: 'i', ...more }] });
const ofPod = { path: `${pods}`, codes: [201, 413, 422] } as const;

export const validationCases: readonly GrowthCase[] = [
  creates('pod of many volumes', {
    ...ofPod,
    full: 80_000,
    body: (n) => pod({ volumes: times(n, (i) => ({ name: `v${i}`, emptyDir: {} })) }),
  }),
  creates('pod of many ports', {
    ...ofPod,
    full: 60_000,
    body: (n) => pod(container({ ports: times(n, (i) => ({ containerPort: (i % 65_535) + 1 })) })),
  }),
  creates('pod of many env', {
    ...ofPod,
    full: 60_000,
    body: (n) => pod(container({ env: times(n, (i) => ({ name: `E${i}`, value: 'x' })) })),
  }),
];
