export { deepFreeze } from '../objects/deep-freeze.ts';
export {
  type BuilderOptions,
  configMap,
  pod,
  type TestConfigMap,
  type TestPod,
  testConfigMaps,
  testPods,
} from './builders.ts';
export { FakeListerWatcher, type FakeListerWatcherOptions, type FakeRequest } from './fake-lister-watcher.ts';
export { LeakCheck, type LeakCheckOptions } from './leak-check.ts';
export { type ListWatchFixture, listWatchConformance } from './list-watch-conformance.ts';
export { settle, VirtualClock, type VirtualClockOptions } from './virtual-clock.ts';
export { type WrongCallFixture, wrongCallConformance } from './wrong-call-conformance.ts';
