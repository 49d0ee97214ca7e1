export { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
export type { EncryptionOptions } from './encryption-config/encryption-at-rest.ts';
export type { KeyPair } from './key-pair.ts';
export { writePrivateFile } from './private-file.ts';
export type { WatchCacheOptions } from './resources.ts';
export { StartError } from './start-error.ts';
