import { undeclared } from 'undeclared-package';

export const value: unknown = undeclared;
