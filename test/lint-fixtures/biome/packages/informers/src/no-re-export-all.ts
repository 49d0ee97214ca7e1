export * from './no-explicit-any.ts';
