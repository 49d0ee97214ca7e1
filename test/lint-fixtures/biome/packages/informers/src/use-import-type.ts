import { Other } from './no-import-cycles-other.ts';

export const value: Other = 1;
