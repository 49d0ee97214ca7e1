export { EtcdForPrograms, openEtcdFixture } from './etcd-fixture.ts';
export {
  type EtcdMembers,
  type EtcdProcess,
  type EtcdProcessOptions,
  findEtcd,
  howToInstall,
  startEtcd,
} from './etcd-process.ts';
export { EtcdSpare } from './etcd-spare.ts';
