export type { TracingOptions } from '@kapstan/api/internal';
export { Client } from './client.ts';
export type { ClientConfig, ClientOptions, Impersonation } from './config/client-config.ts';
export { type ConnectOptions, connect } from './connect.ts';
export type { TlsConfig } from './connection/tls-config.ts';
export type { ClientCertificate, Credentials, RequestHeaders } from './credentials/credentials.ts';
export type { ExecConfig } from './credentials/exec-plugin.ts';
export type { OidcConfig, OidcTokens } from './credentials/oidc.ts';
export {
  type ApiCatalog,
  type DiscoveredGroup,
  type DiscoveredResource,
  Discovery,
  type DiscoveryCallOptions,
  type DiscoveryPorts,
  resourceOf,
  type ServerVersion,
} from './discovery.ts';
export { type InClusterOptions, inClusterConfig, isInCluster } from './kubeconfig/in-cluster.ts';
export {
  type Kubeconfig,
  type KubeconfigCluster,
  type KubeconfigContext,
  type KubeconfigExec,
  type KubeconfigUser,
  parseKubeconfig,
} from './kubeconfig/kubeconfig.ts';
export { clientConfigOf } from './kubeconfig/kubeconfig-client.ts';
export { type KubeconfigOverrides, overrideKubeconfig } from './kubeconfig/kubeconfig-overrides.ts';
export {
  flattenKubeconfig,
  formatKubeconfig,
  minifyKubeconfig,
  redactKubeconfig,
} from './kubeconfig/kubeconfig-view.ts';
export { type LoadKubeconfigOptions, loadKubeconfig } from './kubeconfig/load-kubeconfig.ts';
export type { MetadataReader } from './metadata-reader.ts';
export type { PodLogOptions } from './pod-log.ts';
export type { RawAnswer, RawRequest } from './raw-request.ts';
export { RestMapper } from './rest-mapper.ts';
export { type RetryOnConflictOptions, retryOnConflict } from './retry-on-conflict.ts';
export { type ForwardedPort, PortForward, type PortForwardOptions } from './streaming/port-forward.ts';
export {
  type AttachOptions,
  type ExecOptions,
  RemoteCommand,
  type TerminalSize,
} from './streaming/remote-command.ts';
export {
  type BindOptions,
  bind,
  type CreateTokenOptions,
  createToken,
  evict,
  getScale,
  updateScale,
} from './subresources.ts';
export type { RateLimit } from './transport/rate-limiter.ts';
export type { RequestDiagnostics } from './transport/request-diagnostics.ts';
export { isTransportError, TransportError, type TransportErrorInit } from './transport/transport-error.ts';
export type { WarningHandler } from './transport/warnings.ts';
