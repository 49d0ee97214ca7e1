export { ByteProxy, type ByteProxyOptions, type ProxyConnection } from './byte-proxy.ts';
export type { Connection, ConnectionKind } from './connection.ts';
export type { ControllerRun, ControllerRunOptions } from './controller-run.ts';
export type { ActiveFault, Fault, FaultTarget } from './fault.ts';
export type { ServerSettings } from './running-server.ts';
export {
  type AdmissionHandle,
  type ClusterConnectOptions,
  TestCluster,
  testCluster,
} from './test-cluster.ts';
export type { TestClusterOptions } from './test-cluster-options.ts';
