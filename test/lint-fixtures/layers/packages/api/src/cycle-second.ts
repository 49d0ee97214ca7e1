import type { First } from './cycle-first.ts'; export type Second = First[];
