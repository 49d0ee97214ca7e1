export { MemoryEngine } from './memory-engine.ts';
