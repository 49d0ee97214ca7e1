export {
  type AuthenticationOptions,
  type AuthenticationResult,
  type Authenticator,
  bearerToken,
  type CertificateSubject,
  type Credentials,
  certificateAuthenticator,
  tokenAuthenticator,
} from './authn/authenticator.ts';
export { parseTokenFile } from './authn/token-file.ts';
export {
  type AuthorizationAttributes,
  type AuthorizationDecision,
  type Authorizer,
  alwaysAllow,
  unionAuthorizer,
} from './authz/authorizer.ts';
export { builtinAuthorizer, mastersGroup } from './authz/builtin-authorizer.ts';
export { type VersionInfo, versionInfo } from './discovery/version-info.ts';
export { type ApiServer, type ApiServerOptions, startApiServer } from './http/api-server.ts';
export type { HealthCheck } from './http/health.ts';
export type { TlsOptions } from './http/http-server.ts';
