export { ByteProxy, type ByteProxyOptions, type ProxyConnection } from './byte-proxy.ts';
export type { Connection, ConnectionKind } from './connection.ts';
export type { ActiveFault, Fault, FaultTarget } from './fault.ts';
export type { ServerSettings } from './running-server.ts';
export {
  type AdmissionHandle,
  type ClusterConnectOptions,
  TestCluster,
  type TestClusterOptions,
  testCluster,
} from './test-cluster.ts';
