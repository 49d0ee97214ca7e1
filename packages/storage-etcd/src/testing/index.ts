export { type EtcdProcess, type EtcdProcessOptions, findEtcd, howToInstall, startEtcd } from './etcd-process.ts';
