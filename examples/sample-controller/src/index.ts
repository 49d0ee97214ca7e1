export { Foo, fooDefinition } from './foo.ts';
export { SampleController, type SampleControllerOptions } from './sample-controller.ts';
