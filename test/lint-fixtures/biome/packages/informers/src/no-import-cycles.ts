import type { Other } from './no-import-cycles-other.ts';

export type One = Other[];
