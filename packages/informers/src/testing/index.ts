// The parts that tests of informers use are in a lower package: FakeListerWatcher and VirtualClock in @kapstan/api/testing.
export {};
