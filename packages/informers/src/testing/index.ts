// What informers are tested with lives lower: FakeListerWatcher and VirtualClock in @kapstan/api/testing.
export {};
