import type { name } from '../../informers/src/index.ts'; export type Name = typeof name;
