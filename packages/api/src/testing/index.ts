export { settle, VirtualClock, type VirtualClockOptions } from './virtual-clock.ts';
