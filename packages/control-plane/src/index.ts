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
export type { ServiceAccountOptions } from './access/access-control.ts';
export type { AdmissionOptions } from './access/admission.ts';
export { authorizationSettingsOf } from './authorization/authorization-settings.ts';
export { writePrivateFile } from './certificates/private-file.ts';
export { startControlPlane } from './control-plane.ts';
export type { EncryptionOptions } from './encryption-config/encryption-at-rest.ts';
export { StartError } from './lifetime/start-error.ts';
export type { ControlPlane, ControlPlaneOptions } from './options/control-plane-options.ts';
export type {
  OidcOptions,
  OutsideIdentityOptions,
  TokenWebhookSettings,
} from './outside-identity/outside-identity-options.ts';
export type { EtcdOverride } from './store/store-engines.ts';
export type { WatchCacheOptions } from './store/watch-cache-options.ts';
