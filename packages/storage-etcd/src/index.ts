export type { EtcdUser } from './auth-token.ts';
export { EtcdEngine, openEtcdEngine } from './etcd-engine.ts';
export type { EtcdEngineOptions, EtcdTls } from './etcd-options.ts';
