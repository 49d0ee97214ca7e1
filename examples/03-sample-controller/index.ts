export { runClientGo } from './client-go.ts';
export { Foo } from './foo.ts';
