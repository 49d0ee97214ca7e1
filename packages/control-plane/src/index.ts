export { ConversionFunctions, type ConversionRequest, type ConvertObject } from '@kapstan/apiextensions';
export {
  type AdmissionAnswer,
  type AdmissionFunction,
  type AdmissionFunctionOptions,
  type AdmissionPlugin,
  type AdmissionRequest,
  type AdmissionResponse,
  admit,
} from '@kapstan/apiserver';
export type { KeyPair } from '@kapstan/controller/certificates';
export type { ServiceAccountOptions } from './access-control.ts';
export type { AdmissionOptions } from './admission.ts';
export { authorizationSettingsOf } from './authorization/authorization-settings.ts';
export { writePrivateFile } from './certificates/private-file.ts';
export { startControlPlane } from './control-plane.ts';
export type { ControlPlane, ControlPlaneOptions } from './control-plane-options.ts';
export type { EncryptionOptions } from './encryption-config/encryption-at-rest.ts';
export type {
  OidcOptions,
  OutsideIdentityOptions,
  TokenWebhookSettings,
} from './outside-identity/outside-identity-options.ts';
export { StartError } from './start-error.ts';
export type { EtcdOverride } from './store/store-engines.ts';
export type { WatchCacheOptions } from './store/watch-cache-options.ts';
