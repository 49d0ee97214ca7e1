import '../../storage-etcd/src/index.ts';
