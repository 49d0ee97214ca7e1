export type { ServiceAccountOptions } from './access-control.ts';
export { startControlPlane } from './control-plane.ts';
export type { ControlPlane, ControlPlaneOptions } from './control-plane-options.ts';
export type { EncryptionOptions } from './encryption-config/encryption-at-rest.ts';
export type { KeyPair } from './key-pair.ts';
export { writePrivateFile } from './private-file.ts';
export type { WatchCacheOptions } from './resources.ts';
export { StartError } from './start-error.ts';
export type { EtcdOverride } from './store-engines.ts';
